import os
import signal
import subprocess
import sys

from posthouse.support import processes
from posthouse.support.processes import Process

_STUBBORN_FAMILY = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    time.sleep(60)
print("ready", flush=True)
time.sleep(60)
"""


def test_the_same_pid_with_another_start_is_another_process() -> None:
    """A reused pid is not taken for the process that had it before."""
    me = processes.identify(os.getpid())
    assert me is not None

    assert me.is_alive()
    assert not Process(me.pid, me.start_ticks - 1).is_alive()


def test_a_tree_is_found_and_ended_even_when_it_ignores_sigterm() -> None:
    """Ending a tree leaves nothing, also of programs that ignore SIGTERM."""
    parent = subprocess.Popen([sys.executable, "-c", _STUBBORN_FAMILY], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"ready\n"
    family = processes.tree(parent.pid)

    left = processes.end(family, grace_seconds=0.1)
    parent.communicate()

    assert len(family) == 2
    assert left == []
    assert parent.returncode == -signal.SIGKILL


def test_a_zombie_counts_as_ended() -> None:
    """A process that ended but was not reaped is not alive."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    known = processes.identify(child.pid)
    assert known is not None
    assert known.is_alive()

    child.kill()
    assert processes.wait_exit(child.pid, seconds=5)

    assert not known.is_alive()
    child.communicate()


def test_group_members_are_found() -> None:
    """A process group's live members are found by its id."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)

    assert [process.pid for process in processes.group(child.pid)] == [child.pid]

    child.communicate()
    assert processes.group(child.pid) == []


def test_what_is_gone_has_no_identity() -> None:
    """A pid that nobody has gives None, an empty tree, and counts as exited."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()

    assert processes.identify(child.pid) is None
    assert processes.tree(child.pid) == []
    assert processes.wait_exit(child.pid, seconds=0)


def test_a_process_that_runs_another_program_keeps_its_variables() -> None:
    """During exec the kernel shows an empty environment for an instant."""
    again = 'exec /bin/sh -c "$0" "$0"'
    with subprocess.Popen(["/bin/sh", "-c", again, again], env={"MARK": "mine"}) as process:
        try:
            found = [processes.has_variable(process.pid, "MARK", "mine") for _ in range(2000)]
        finally:
            process.kill()

    assert found.count(False) == 0

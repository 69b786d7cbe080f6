"""A child that the kernel kills with its parent."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from posthouse.support import processes
from posthouse.support.bound_process import BoundProcess
from posthouse.testing.waiting import LIMIT_SECONDS

#: Starts one child in a thread that ends, another that inherits nothing, and says who they are.
_PARENT = """
import os, subprocess, sys, threading
from posthouse.support.bound_process import BoundProcess

def start():
    nothing = subprocess.DEVNULL
    child = BoundProcess([b"sleep", b"999"], stdin=nothing, stdout=nothing, stderr=nothing, env=os.environ)
    print(child.pid, flush=True)
    children.append(child)

children = []
thread = threading.Thread(target=start)
thread.start()
thread.join()
other = subprocess.Popen(["sleep", "999"], stdout=subprocess.DEVNULL)
print(other.pid, flush=True)
input()
"""


def _started() -> BoundProcess:
    nothing = subprocess.DEVNULL
    return BoundProcess([b"sleep", b"999"], stdin=nothing, stdout=nothing, stderr=nothing, env={})


def test_it_is_killed_with_its_parent() -> None:
    """By SIGKILL too; it outlives the thread that started it, and no other child keeps it alive."""
    argv = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child, other = (processes.identify(int(parent.stdout.readline())) for _ in range(2))
        assert child is not None
        assert other is not None
        was_alive = child.is_alive()
        parent.kill()

    left = processes.wait_gone([child], seconds=LIMIT_SECONDS)
    other_was_alive = other.is_alive()
    processes.signal_all([other], signal.SIGKILL)

    assert (was_alive, left, other_was_alive) == (True, [], True)


def test_it_is_ended_once() -> None:
    """It is killed and reaped, nothing stays open, and a second call changes nothing."""
    before = _open_files()
    child = _started()
    running = processes.identify(child.pid)
    assert running is not None

    child.end()
    child.end()

    assert (running.is_alive(), processes.identify(child.pid)) == (False, None)
    assert _open_files() == before


def test_a_program_that_is_missing_leaves_nothing_open() -> None:
    """The error is that of the operating system."""
    before = _open_files()

    with pytest.raises(FileNotFoundError):
        BoundProcess([b"/nonexistent"], stdin=0, stdout=1, stderr=2, env={})

    assert _open_files() == before


def _open_files() -> list[str]:
    return sorted(str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.exists())

"""Which process is the gateway, and how it is ended."""

import os
import subprocess
import sys
from pathlib import Path

from posthouse.gateway_lifecycle import gateway_lock
from posthouse.support import locks, processes

HOLDING = """
import pathlib, signal, sys, time
from posthouse.support import locks
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with locks.hold(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def start(root: Path, hearing: str) -> subprocess.Popen[str]:
    """A process that holds the lock of *root*."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(root / gateway_lock.LOCK), hearing],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    process.stdout.close()
    return process


def test_the_holder_of_the_lock_is_the_gateway(tmp_path: Path) -> None:
    """It is known by its lock, and gone with it."""
    before = gateway_lock.holder_of(tmp_path)
    process = start(tmp_path, "hearing")
    during = gateway_lock.holder_of(tmp_path)
    process.kill()
    process.wait()

    assert (before, during, gateway_lock.holder_of(tmp_path)) == (None, process.pid, None)


def test_a_pid_that_somebody_else_has_now_is_never_signalled(tmp_path: Path) -> None:
    """A lock file with the pid of a living stranger names no gateway."""
    with locks.hold(tmp_path / gateway_lock.LOCK):
        pass
    assert (tmp_path / gateway_lock.LOCK).read_text() == str(os.getpid())

    assert gateway_lock.end(tmp_path) is None


def test_a_pid_that_was_written_into_the_lock_of_a_live_gateway_is_not_killed(tmp_path: Path) -> None:
    """Neither the stranger nor the gateway: which one is meant is not known."""
    process = start(tmp_path, "hearing")
    stranger = subprocess.Popen(["sleep", "600"])
    (tmp_path / gateway_lock.LOCK).write_text(str(stranger.pid))

    assert gateway_lock.end(tmp_path) is None
    assert (process.poll(), stranger.poll()) == (None, None)
    for one in (process, stranger):
        one.kill()
        one.wait()


def test_a_gateway_that_hears_is_ended_and_one_that_does_not_is_killed(tmp_path: Path) -> None:
    """In the end it is gone, whatever it does with SIGTERM."""
    for hearing, root in (("hearing", tmp_path / "a"), ("deaf", tmp_path / "b")):
        process = start(root, hearing)

        assert gateway_lock.end(root) == process.pid
        assert processes.wait_exit(process.pid, seconds=0)
        process.returncode = 0  # reaped by `end`

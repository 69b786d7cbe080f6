import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from posthouse.support import locks
from posthouse.support.untrusted_files import UnsafeFile

_HOLDER = """
import sys
from pathlib import Path
from posthouse.support import locks
with locks.hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_holder_is_told_who_holds_it(tmp_path: Path) -> None:
    """While one process holds a lock, another is refused with the holder's pid."""
    path = tmp_path / "agent.lock"

    with locks.hold(path), pytest.raises(locks.LockHeld) as refused, locks.hold(path):
        pass

    assert refused.value.holder == str(os.getpid())


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    """After kill -9 of the holder the next one gets the lock at once."""
    path = tmp_path / "agent.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(locks.LockHeld), locks.hold(path):
        pass

    holder.kill()
    holder.communicate()

    with locks.hold(path):
        assert path.read_text() == str(os.getpid())


@pytest.fixture
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that has nothing to do with any lock."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def test_a_pid_that_was_written_into_a_held_lock_is_not_its_holder(
    tmp_path: Path, stranger: "subprocess.Popen[bytes]"
) -> None:
    """Any program of this user can write a lock's text; the kernel knows who holds it."""
    path = tmp_path / "gateway.lock"
    with locks.hold(path):
        path.write_text(str(stranger.pid))

        assert locks.holder(path) is None
        assert locks.signal_holder(path, signal.SIGKILL) is None
        with pytest.raises(locks.LockHeld, match="held by process unknown"), locks.hold(path):
            pass
    assert stranger.poll() is None


def test_a_program_that_holds_a_lock_without_being_ours_is_not_signalled(
    tmp_path: Path, stranger: "subprocess.Popen[bytes]"
) -> None:
    """A backup that locks the file has not written its pid there; an old pid stands in it."""
    path = tmp_path / "gateway.lock"
    path.write_text(str(stranger.pid))
    with path.open("r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        assert locks.holder(path) is None
        assert locks.signal_holder(path, signal.SIGKILL) is None
    assert stranger.poll() is None


def test_the_holder_is_found_where_the_kernels_list_has_another_inode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on some overlay filesystems: what the process has open is asked for instead."""
    # No filesystem here lists another inode, so the list is taken away.
    monkeypatch.setattr(locks, "_listed_holders", lambda _inode: [])
    path = tmp_path / "agent.lock"

    with locks.hold(path):
        assert locks.holder(path) == os.getpid()
        path.write_text(str(os.getppid()))
        assert locks.holder(path) is None


def test_a_link_in_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    """Holding it would truncate what the link points to."""
    (tmp_path / "precious").write_text("content")
    (tmp_path / "agent.lock").symlink_to(tmp_path / "precious")

    with pytest.raises(UnsafeFile, match="symbolic link"), locks.hold(tmp_path / "agent.lock"):
        pass
    assert (tmp_path / "precious").read_text() == "content"
    assert locks.holder(tmp_path / "agent.lock") is None


def test_a_named_pipe_in_place_of_a_lock_is_refused(tmp_path: Path) -> None:
    """Neither holding it nor asking for its holder waits."""
    os.mkfifo(tmp_path / "agent.lock")

    with pytest.raises(UnsafeFile, match="not a regular file"), locks.hold(tmp_path / "agent.lock"):
        pass
    assert locks.holder(tmp_path / "agent.lock") is None


def test_the_holder_is_signalled(tmp_path: Path) -> None:
    """The process that holds the lock gets the signal, and its pid is returned."""
    path = tmp_path / "agent.lock"
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"

    assert locks.signal_holder(path, signal.SIGTERM) == process.pid
    process.communicate()
    assert process.returncode == -signal.SIGTERM
    assert locks.signal_holder(path, signal.SIGTERM) is None

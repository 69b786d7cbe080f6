"""File locks that end with their holder.

A lock is an flock on a file that is never removed. It can't be stale, because the kernel drops the lock with
the process. The file contains the pid of its holder. Other programs can write it too, and pids are reused,
so the kernel is asked which process holds the lock.
"""

import contextlib
import errno
import fcntl
import os
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from posthouse.errors import Conflict
from posthouse.support.files import private_folder
from posthouse.support.untrusted_files import UnsafeFile

_RETRY_SECONDS = 0.02
#: How `/proc/<pid>/fdinfo` shows an exclusive flock.
_LOCKED = "FLOCK  ADVISORY  WRITE"


class LockHeld(Conflict):
    """Another process, or another part of this one, holds the lock."""

    code = "locked"

    def __init__(self, path: Path, holder: int | None) -> None:
        #: A pid, for messages; "unknown" when it is not one of ours.
        self.holder = "unknown" if holder is None else str(holder)
        super().__init__(f"{path} is held by process {self.holder}")
        self.path = path


@contextmanager
def hold(path: Path, *, wait_seconds: float = 0.0, retry_seconds: float = _RETRY_SECONDS) -> Iterator[None]:
    """Hold the lock *path* for the body, retrying every *retry_seconds*.

    Raises:
        LockHeld: It was not acquired within *wait_seconds*.
    """
    private_folder(path.parent)
    descriptor = _open(path, os.O_RDWR | os.O_CREAT)
    try:
        _acquire(descriptor, path, wait_seconds, retry_seconds)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def holder(path: Path) -> int | None:
    """The process that holds *path*, or None. Concurrent callers never mistake each other for the holder.

    None also when a program that is not ours holds it, which must not be signalled, and when *path* can't be
    opened as a lock.
    """
    try:
        descriptor = _open(path, os.O_RDONLY)
    except (OSError, UnsafeFile):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder_of(descriptor)
    finally:
        os.close(descriptor)
    return None


def open_holder(path: Path) -> tuple[int, int] | None:
    """The process that holds *path*, and its pidfd, which stays valid when the pid is reused.

    None as `holder`, and when the process is another user's. The caller closes the pidfd.
    """
    pid = holder(path)
    if pid is None:
        return None
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    # Checked again: the process may have ended, and its pid been reused, before the pidfd was opened.
    if holder(path) == pid and _owner(pid) == os.geteuid():
        return pid, descriptor
    os.close(descriptor)
    return None


def signal_holder(path: Path, number: signal.Signals) -> int | None:
    """Signal the process that holds *path*. Returns its pid, or None when no process was signalled."""
    opened = open_holder(path)
    if opened is None:
        return None
    pid, descriptor = opened
    try:
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return None
    finally:
        os.close(descriptor)
    return pid


def _open(path: Path, flags: int) -> int:
    """Open a lock file. Links are refused, because their target would be truncated.

    Raises:
        UnsafeFile: It is a link, or not a regular file.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnsafeFile(f"{path} is a symbolic link, which is not followed") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnsafeFile(f"{path} is not a regular file")
    return descriptor


def _acquire(descriptor: int, path: Path, wait_seconds: float, retry_seconds: float) -> None:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LockHeld(path, _holder_of(descriptor)) from None
        time.sleep(retry_seconds)


def _holder_of(descriptor: int) -> int | None:
    """The process of ours that holds the lock, according to the kernel.

    A process is ours when the lock file contains its pid, as `hold` writes it. When the file contains another
    pid, it was tampered with, and our process is recognized by its command line.
    """
    content, facts = os.pread(descriptor, 32, 0), os.fstat(descriptor)
    named = int(content) if content.isdigit() else None
    listed = _listed_holders(facts.st_ino)
    if named is not None and (named in listed or _has_locked(named, facts)):
        return named
    return next((pid for pid in listed if _has_locked(pid, facts) and _is_ours(pid)), None)


def _listed_holders(inode: int) -> list[int]:
    """The processes with an exclusive flock on *inode*, in the kernel's list.

    The device is not compared: on btrfs it differs between the list and stat.
    """
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return []
    # "1: FLOCK  ADVISORY  WRITE 707 fe:00:2146540 0 EOF"; a waiting process has "->" after the number.
    entries = [fields for fields in map(str.split, lines) if fields[1:4] == ["FLOCK", "ADVISORY", "WRITE"]]
    return [int(fields[4]) for fields in entries if fields[5].rpartition(":")[2] == str(inode)]


def _has_locked(pid: int, facts: os.stat_result) -> bool:
    """Whether *pid* has the file open and locked. Exact on overlay filesystems too, unlike the list."""
    process = Path(f"/proc/{pid}")
    with contextlib.suppress(OSError):
        for opened in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                is_same = os.path.samestat(opened.stat(), facts)
                if is_same and _LOCKED in (process / "fdinfo" / opened.name).read_text():
                    return True
    return False


def _is_ours(pid: int) -> bool:
    """Whether *pid* was started as a module of this package: `python -m posthouse.gateway`."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return any(pair[0] == b"-m" and pair[1].startswith(b"posthouse.") for pair in pairwise(words))
    return False


def _owner(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None

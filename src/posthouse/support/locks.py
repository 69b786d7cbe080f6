"""Locks that die with their holder.

A lock is an flock on a file that stays where it is: nothing is ever stale, because the kernel
drops the lock with the process.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posthouse.errors import Conflict
from posthouse.support.files import private_folder

_RETRY_SECONDS = 0.02


class LockHeld(Conflict):
    """Somebody else holds it; nothing was done."""

    code = "locked"

    def __init__(self, path: Path, holder: str) -> None:
        by = f" by process {holder}" if holder else ""
        super().__init__(f"{path} is held{by}")
        self.path = path
        self.holder = holder


@contextmanager
def hold(path: Path, *, wait_seconds: float = 0.0, retry_seconds: float = _RETRY_SECONDS) -> Iterator[None]:
    """Hold *path* for the body, looking every *retry_seconds* whether it is free.

    Raises:
        LockHeld: It could not be had within *wait_seconds*.
    """
    private_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(descriptor, path, wait_seconds, retry_seconds)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def holder(path: Path) -> int | None:
    """The process that holds *path*, or None. Two who ask never take each other for the holder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        told = os.pread(descriptor, 32, 0).decode(errors="replace")
        return int(told) if told.isdecimal() else None
    finally:
        os.close(descriptor)
    return None


def _acquire(descriptor: int, path: Path, wait_seconds: float, retry_seconds: float) -> None:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LockHeld(path, os.pread(descriptor, 32, 0).decode(errors="replace")) from None
        time.sleep(retry_seconds)

"""The locks of a mailbox root: files that other programs on the root know, and that die with their holder.

A lock is a file that only one can create. Ours also hold an flock on it: the kernel drops that with the
process, so whoever meets the file of a dead holder can tell, and takes it away.
"""

import fcntl
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.transport import MailTrouble
from posthouse.support import clock, crashpoints, processes, untrusted_files

_FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS = 0.002, 0.05
_WAIT_SECONDS = 20.0
#: Between making the file and writing into it, a holder needs microseconds.
_EMPTY_SECONDS = 1.0
#: The kernel counts in ticks, and clocks are set.
_CLOCK_SLACK = timedelta(seconds=2)
_HOLDER = re.compile(r"pid=(\d{1,9}) acquired_at_utc=(\S+)")


class MailboxLocked(MailTrouble):
    """Somebody else works there; nothing was done."""

    code = "mailbox_locked"

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(f"{path} was not free within {seconds:g} s: {_words(path)}")


@contextmanager
def hold(
    root: Root, addresses: Sequence[str], *, index: bool, wait_seconds: float = _WAIT_SECONDS
) -> Iterator[None]:
    """Hold the locks of *addresses*, and then that of the index, for the body.

    The order is everybody's: addresses sorted, then the index.

    Raises:
        MailboxLocked: They could not be had within *wait_seconds*.
    """
    paths = [root.address_lock(address) for address in sorted(set(addresses))]
    deadline = time.monotonic() + wait_seconds
    with ExitStack() as held:
        for path in [*paths, root.index_lock] if index else paths:
            held.enter_context(_hold_one(path, deadline, wait_seconds))
        yield


@contextmanager
def _hold_one(path: Path, deadline: float, wait_seconds: float) -> Iterator[None]:
    descriptor = _acquire(path, deadline, wait_seconds)
    try:
        yield
    finally:
        # Removed while it is still ours: another could otherwise take it, and we would remove theirs.
        with suppress(FileNotFoundError):
            path.unlink()
        os.close(descriptor)


def _acquire(path: Path, deadline: float, wait_seconds: float) -> int:
    pause = _FIRST_PAUSE_SECONDS
    while True:
        descriptor = _create(path)
        if descriptor is not None:
            return descriptor
        if _remove_if_stale(path):
            continue
        if time.monotonic() >= deadline:
            raise MailboxLocked(path, wait_seconds)
        time.sleep(pause)
        pause = min(pause * 2, _LAST_PAUSE_SECONDS)


def _create(path: Path) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return None
    except OSError as error:
        raise MailTrouble(f"{path} can't be made: {error}") from error
    crashpoints.reach("lock file made")
    try:
        # Whoever looks whether we are dead holds it for a moment.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, f"pid={os.getpid()} acquired_at_utc={clock.iso_micros(clock.now())}\n".encode())
        crashpoints.reach("lock file written")
        if _is_at(path, descriptor):
            return descriptor
    except OSError as error:
        os.close(descriptor)
        raise MailTrouble(f"{path} can't be held: {error}") from error
    os.close(descriptor)
    return None


def _remove_if_stale(path: Path) -> bool:
    """Take the file of a dead holder away. True when the way may be free."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise MailTrouble(f"{path} can't be looked at: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_dead(descriptor) or not _is_at(path, descriptor):
            return False
        path.unlink()
        return True
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as error:  # a named pipe can't be read at a place
        raise MailTrouble(f"{path} can't be looked at: {error}") from error
    finally:
        os.close(descriptor)


def _is_dead(descriptor: int) -> bool:
    """Whether nobody can hold this file. Its flock is free; who knows no flock is asked for by pid."""
    matched = _HOLDER.match(os.pread(descriptor, 200, 0).decode(errors="replace"))
    if matched is None:
        return time.time() - os.fstat(descriptor).st_mtime > _EMPTY_SECONDS
    holder = processes.identify(int(matched[1]))
    return holder is None or not holder.is_alive() or _began_later(holder, matched[2])


def _began_later(holder: processes.Process, acquired_at_utc: str) -> bool:
    """Whether the pid was given to another process after the lock was taken."""
    try:
        acquired = clock.parse(acquired_at_utc)
    except ValueError:
        return False
    return processes.started_at(holder) > acquired + _CLOCK_SLACK


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))


def _words(path: Path) -> str:
    try:
        said = untrusted_files.read_bytes(path).decode(errors="replace")[:120].strip()
        return said or "its holder has not said who it is"
    except untrusted_files.UnsafeFile as error:
        return str(error)
    except OSError:
        return "it is free now; try again"

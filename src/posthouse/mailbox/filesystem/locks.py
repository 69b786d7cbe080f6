"""The locks of a mailbox root: lock files that other programs also use, with detection of dead holders.

A lock is a file created exclusively. Its holder also has an flock on it, which the kernel releases with the
process, so that the file of a dead holder is recognized and removed.
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
from posthouse.mailbox.transport import MailTransportError
from posthouse.support import clock, crashpoints, processes, untrusted_files

_FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS = 0.002, 0.05
_WAIT_SECONDS = 20.0
#: A holder writes into its new file within microseconds; an older empty file is stale.
_EMPTY_SECONDS = 1.0
#: Process start times have tick resolution, and clocks are adjusted.
_CLOCK_SLACK = timedelta(seconds=2)
_HOLDER = re.compile(r"pid=(\d{1,9}) acquired_at_utc=(\S+)")


@contextmanager
def hold(
    root: Root, addresses: Sequence[str], *, index: bool, wait_seconds: float = _WAIT_SECONDS
) -> Iterator[None]:
    """Hold the locks of *addresses*, then that of the index, for the body.

    All programs use this order to avoid deadlock: addresses sorted, then the index.

    Raises:
        MailTransportError: A lock was not acquired within *wait_seconds*.
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
        # Removed while still held: otherwise another process could take it, and its file would be removed.
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
            raise MailTransportError(
                f"{path} was not free within {wait_seconds:g} s: {_holder_text(path)}", code="mailbox_locked"
            )
        time.sleep(pause)
        pause = min(pause * 2, _LAST_PAUSE_SECONDS)


def _create(path: Path) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return None
    except OSError as error:
        raise MailTransportError(f"{path} can't be created: {error}") from error
    crashpoints.reach("lock file made")
    try:
        # A process that checks for a dead holder holds the flock briefly.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, f"pid={os.getpid()} acquired_at_utc={clock.iso_micros(clock.now())}\n".encode())
        crashpoints.reach("lock file written")
        if _is_at(path, descriptor):
            return descriptor
    except OSError as error:
        os.close(descriptor)
        raise MailTransportError(f"{path} can't be held: {error}") from error
    os.close(descriptor)
    return None


def _remove_if_stale(path: Path) -> bool:
    """Remove the file of a dead holder. True when the lock may be free."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise MailTransportError(f"{path} can't be checked: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_dead(descriptor) or not _is_at(path, descriptor):
            return False
        path.unlink()
        return True
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as error:  # a named pipe can't be read at a place
        raise MailTransportError(f"{path} can't be checked: {error}") from error
    finally:
        os.close(descriptor)


def _is_dead(descriptor: int) -> bool:
    """Whether the holder is dead. The flock is free; holders without flock are checked by pid."""
    matched = _HOLDER.match(os.pread(descriptor, 200, 0).decode(errors="replace"))
    if matched is None:
        return time.time() - os.fstat(descriptor).st_mtime > _EMPTY_SECONDS
    holder = processes.identify(int(matched[1]))
    return holder is None or not holder.is_alive() or _started_after(holder, matched[2])


def _started_after(holder: processes.Process, acquired_at_utc: str) -> bool:
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


def _holder_text(path: Path) -> str:
    try:
        text = untrusted_files.read_bytes(path).decode(errors="replace")[:120].strip()
        return text or "its holder is not recorded"
    except untrusted_files.UnsafeFile as error:
        return str(error)
    except OSError:
        return "it is free now; try again"

"""Opens the database of a queue, recovers it after a crash, and replaces a corrupt file."""

import sqlite3
from pathlib import Path

from posthouse.queue import stages
from posthouse.queue.queue import Finished, QueueUnavailable, SetAside
from posthouse.queue.statements import named
from posthouse.queue.store import Store
from posthouse.support import clock, files

#: Error of a request that ran when the gateway died.
DIED_RUNNING = "the gateway stopped while this request ran; it may have reached the agent and is not repeated"
#: Only another program's write blocks; readers do not.
_BUSY_SECONDS = 1.0
#: Checking a larger file would delay the agent. Its corruption is detected at first access.
_MAX_CHECKED_BYTES = 64 << 20
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_ASIDE = ".corrupt-"
#: Enough for the newest rows and their index pages; scans of a long history need not be cached.
_CACHE_KIBIBYTES = 512


class _CorruptDatabase(Exception):
    """The file exists but is not a usable database."""


def open_file(path: Path) -> tuple[sqlite3.Connection, SetAside | None]:
    """Open a connection with durable commits. A corrupt file is set aside and reported.

    Raises:
        QueueUnavailable: The file can't be used, and a new file would not help.
    """
    try:
        return _connect(path), None
    except _CorruptDatabase as broken:
        aside = _set_aside(path, str(broken))
    try:
        return _connect(path), aside
    except _CorruptDatabase as broken:
        raise QueueUnavailable(f"{path} can't be used: {broken}") from broken


def recover(store: Store) -> list[Finished]:
    """Fail requests that ran when the last process died; accepted ones stay queued."""
    now = clock.iso_seconds(clock.now())
    store.run("seed_notifier", now=now)
    store.run("adopt")
    stages.recover(store)
    store.run("close_finished")
    running = [row[0] for row in store.run("running")]
    failed = [store.fail(request_id, DIED_RUNNING, ends_as="unknown") for request_id in running]
    store.recount()
    return failed


def set_aside_at(path: Path) -> list[Path]:
    """Corrupt queues of *path* that were set aside, oldest first."""
    kept = path.parent.glob(f"{path.name}{_ASIDE}*")
    return sorted(one for one in kept if not one.name.endswith(("-wal", "-shm")))


def _connect(path: Path) -> sqlite3.Connection:
    try:
        path.touch(mode=0o600)  # SQLite would create it readable by others
        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS
        )
    except (sqlite3.Error, OSError) as error:
        raise QueueUnavailable(f"{path} can't be used: {error}") from error
    try:
        _prepare(connection, path)
    except (sqlite3.Error, OSError, _CorruptDatabase) as error:
        connection.close()
        if isinstance(error, _CorruptDatabase) or is_corrupt(error):
            raise _CorruptDatabase(str(error)) from error
        raise QueueUnavailable(f"{path} can't be used: {error}") from error
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    size = path.stat().st_size
    if size == 0:
        # Takes effect only in a new file; an old one reuses its free pages.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
    if size <= _MAX_CHECKED_BYTES:
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise _CorruptDatabase(verdict)
    connection.executescript(named()["schema"])
    if "accepted_at_utc" not in [row[0] for row in connection.execute(named()["columns"])]:
        connection.execute(named()["add_accepted_at"])


def is_corrupt(error: Exception) -> bool:
    """Whether *error* means that the file is not a usable database."""
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN


def _set_aside(path: Path, reason: str) -> SetAside:
    """Move the file and its journals aside. The database is moved first: SQLite deletes the journal of an
    empty database, so a crash in between leaves a clean start."""
    stamp = clock.compact(clock.now())
    kept = path.with_name(f"{path.name}{_ASIDE}{stamp}")
    number = 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}{_ASIDE}{stamp}-{number}")
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(kept.with_name(kept.name + suffix))
    files.sync_folder(path.parent)
    return SetAside(kept_as=kept, reason=reason)

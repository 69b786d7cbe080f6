"""One thread that writes, and one commit for all that waits.

A job that raises fails alone: its own changes are undone, the others of its batch are kept. When
the commit itself fails, every job of the batch fails and nothing of it is on disk.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from posthouse.queue import open_database
from posthouse.queue.queue import Counts, QueueUnavailable
from posthouse.queue.store import Store
from posthouse.support import crashpoints

T = TypeVar("T")


@dataclass(slots=True)
class _Job:
    run: Callable[[Store], Any]
    future: "asyncio.Future[Any]"
    value: Any = None
    error: BaseException | None = None

    def deliver(self) -> None:
        if self.future.done():  # whoever asked has gone; what was done is done
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)


class Writer:
    """Runs jobs on a store, in the order they were asked for, for one event loop."""

    def __init__(self, connection: sqlite3.Connection, store: Store) -> None:
        self._connection = connection
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._condition = threading.Condition()
        self._waiting: list[_Job] = []
        self._closing = False
        #: As of the last commit.
        self.counts: Counts = store.counts
        #: Why the last commit was refused; None since one wrote something.
        self.refusal: str | None = None
        self._file = _File(connection)
        self._data_version: int = connection.execute("PRAGMA data_version").fetchone()[0]
        self._thread = threading.Thread(target=self._work, name="queue writer", daemon=True)
        self._thread.start()

    async def do(self, job: Callable[[Store], T]) -> T:
        """Run *job* in the writer and return its value once it is on disk.

        Raises:
            QueueUnavailable: SQLite refused, or the writer is closed.
        """
        entry = _Job(job, self._loop.create_future())
        with self._condition:
            if self._closing:
                raise QueueUnavailable("the queue is closed: the gateway is stopping")
            self._waiting.append(entry)
            self._condition.notify()
        value: T = await entry.future
        return value

    async def close(self) -> None:
        """Do what waits, end the thread, close the file. A second call does nothing."""
        with self._condition:
            self._closing = True
            self._condition.notify()
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while batch := self._take():
            self._commit(batch)
            self._loop.call_soon_threadsafe(_deliver, batch)
        self._connection.close()

    def _take(self) -> list[_Job]:
        """Everything that waits; empty only when the writer closes."""
        with self._condition:
            self._condition.wait_for(lambda: self._waiting or self._closing)
            batch, self._waiting = self._waiting, []
            return batch

    def _commit(self, batch: list[_Job]) -> None:
        changes = self._connection.total_changes
        try:
            self._file.require()
            if self._connection.in_transaction:  # an undo that failed: nothing of it may be committed now
                self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN IMMEDIATE")
            self._notice_other_writers()
            for job in batch:
                self._run(job)
            crashpoints.reach("queue commit")
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - without this thread every request would hang
            self._undo(batch, error)
            return
        crashpoints.reach("queue committed")
        self.counts = self._store.counts
        if self._connection.total_changes > changes:
            self.refusal = None

    def _notice_other_writers(self) -> None:
        """Count the rows again when another program has written to the file."""
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._data_version:
            self._data_version = version
            self._store.recount()

    def _run(self, job: _Job) -> None:
        counts = self._store.counts
        self._connection.execute("SAVEPOINT job")
        try:
            job.value = job.run(self._store)
        except Exception as error:  # it is the asker's to handle, and must not end the writer
            if isinstance(error, sqlite3.Error) and not self._connection.in_transaction:
                raise  # a full or failing disk: SQLite has undone the whole batch already
            job.error = _translated(error)
            self._store.counts = counts
            self._connection.execute("ROLLBACK TO job")
        self._connection.execute("RELEASE job")

    def _undo(self, batch: list[_Job], error: Exception) -> None:
        """Leave the connection usable: a full disk may be emptied."""
        self._store.counts = self.counts
        self.refusal = str(_translated(error))
        for job in batch:
            job.error = job.error or _translated(error)
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as refused:
            # The next batch tries again; until then every request is refused, and told why.
            error.add_note(f"and it could not be undone: {refused}")


class _File:
    """The database's file: SQLite goes on writing to one that was removed, and nobody finds it again."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._path = Path(connection.execute("PRAGMA database_list").fetchone()[2])
        self._identity = _identity(self._path)

    def require(self) -> None:
        """Raises:
        QueueUnavailable: The file is not where it was.
        """
        try:
            found = _identity(self._path)
        except OSError as error:
            raise QueueUnavailable(f"the queue can't be written: {self._path}: {error.strerror}") from error
        if found != self._identity:
            raise QueueUnavailable(
                f"the queue can't be written: {self._path} was replaced; detach the gateway and attach it"
            )


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _deliver(batch: list[_Job]) -> None:
    for job in batch:
        job.deliver()


def _translated(error: Exception) -> Exception:
    if not isinstance(error, sqlite3.Error):
        return error
    hint = "; attach the gateway anew, which sets the file aside" if open_database.is_broken(error) else ""
    unavailable = QueueUnavailable(f"the queue could not be written: {error}{hint}")
    unavailable.__cause__ = error
    return unavailable

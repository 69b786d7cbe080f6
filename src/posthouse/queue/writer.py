"""The writer thread: one commit for all waiting jobs.

A job that raises fails alone: its changes are rolled back, those of the other jobs in the batch are kept.
When the commit fails, every job of the batch fails and nothing is on disk.
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

    def resolve(self) -> None:
        if self.future.done():  # the caller was cancelled; the commit stays
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)


class Writer:
    """Runs jobs on a store in submission order, for one event loop."""

    def __init__(self, connection: sqlite3.Connection, store: Store) -> None:
        self._connection = connection
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._condition = threading.Condition()
        self._waiting: list[_Job] = []
        self._closing = False
        #: As of the last commit.
        self.counts: Counts = store.counts
        #: Why the last commit failed; None after a successful write.
        self.refusal: str | None = None
        self._file = _File(connection)
        self._data_version: int = connection.execute("PRAGMA data_version").fetchone()[0]
        self._thread = threading.Thread(target=self._work, name="queue writer", daemon=True)
        self._thread.start()

    async def do(self, job: Callable[[Store], T]) -> T:
        """Run *job* in the writer and return its value once it is on disk.

        Raises:
            QueueUnavailable: SQLite failed, or the writer is closed.
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
        """Finish waiting jobs, end the thread and close the file. A second call does nothing."""
        with self._condition:
            self._closing = True
            self._condition.notify()
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while batch := self._take():
            self._commit(batch)
            self._loop.call_soon_threadsafe(_resolve_all, batch)
        self._connection.close()

    def _take(self) -> list[_Job]:
        """All waiting jobs; empty only when the writer closes."""
        with self._condition:
            self._condition.wait_for(lambda: self._waiting or self._closing)
            batch, self._waiting = self._waiting, []
            return batch

    def _commit(self, batch: list[_Job]) -> None:
        changes = self._connection.total_changes
        try:
            self._file.require_in_place()
            if self._connection.in_transaction:  # a rollback failed: its changes must not be committed now
                self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN IMMEDIATE")
            self._recount_after_other_writers()
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

    def _recount_after_other_writers(self) -> None:
        """Recount the rows when another program has written to the file."""
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._data_version:
            self._data_version = version
            self._store.recount()

    def _run(self, job: _Job) -> None:
        counts = self._store.counts
        self._connection.execute("SAVEPOINT job")
        try:
            job.value = job.run(self._store)
        except Exception as error:  # the caller handles it; the writer must survive
            if isinstance(error, sqlite3.Error) and not self._connection.in_transaction:
                raise  # a full or failing disk: SQLite has rolled the whole batch back
            job.error = _translated(error)
            self._store.counts = counts
            self._connection.execute("ROLLBACK TO job")
        self._connection.execute("RELEASE job")

    def _undo(self, batch: list[_Job], error: Exception) -> None:
        """Roll back and leave the connection usable: space may be freed on a full disk."""
        self._store.counts = self.counts
        self.refusal = str(_translated(error))
        for job in batch:
            job.error = job.error or _translated(error)
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as refused:
            # The next batch retries the rollback; until then every request fails with the reason.
            error.add_note(f"and the rollback failed: {refused}")


class _File:
    """Identity of the database file: SQLite keeps writing to a removed file, whose data would be lost."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._path = Path(connection.execute("PRAGMA database_list").fetchone()[2])
        self._identity = _identity(self._path)

    def require_in_place(self) -> None:
        """Raises:
        QueueUnavailable: The file was moved, removed or replaced.
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


def _resolve_all(batch: list[_Job]) -> None:
    for job in batch:
        job.resolve()


def _translated(error: Exception) -> Exception:
    if not isinstance(error, sqlite3.Error):
        return error
    hint = "; attach the gateway anew, which sets the file aside" if open_database.is_corrupt(error) else ""
    unavailable = QueueUnavailable(f"the queue could not be written: {error}{hint}")
    unavailable.__cause__ = error
    return unavailable

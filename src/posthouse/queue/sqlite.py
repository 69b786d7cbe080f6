"""`Queue` on SQLite: each call is a job of the writer thread."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Literal

from posthouse.queue import epochs, keys, open_database, pruning, turns
from posthouse.queue.notifier import NotifierStore
from posthouse.queue.notifier_rows import SqliteNotifierStore
from posthouse.queue.pruning import RetentionLimits
from posthouse.queue.queue import (
    Accepted,
    Choice,
    Claim,
    Counts,
    EpochDecision,
    ExecutionResult,
    Finished,
    Instance,
    QueuedRequest,
    QueueUnavailable,
    RecoveryReport,
    Request,
    UnfinishedTurn,
)
from posthouse.queue.receipt import IdempotencyKey
from posthouse.queue.receipts import SqliteReceipts
from posthouse.queue.statements import named
from posthouse.queue.store import MAX_WAITING, Store
from posthouse.queue.writer import Writer
from posthouse.support import clock


class SqliteQueue:
    """A `Queue` in one file."""

    def __init__(self, writer: Writer, found: RecoveryReport, limits: RetentionLimits) -> None:
        self._writer = writer
        self._limits = limits
        self.recovery = found
        self.receipts = SqliteReceipts(writer)
        self.notifier: NotifierStore = SqliteNotifierStore(writer)

    @property
    def counts(self) -> Counts:
        return self._writer.counts

    async def problem(self) -> str | None:
        if self._writer.refusal is None:
            return None
        try:
            await self._writer.do(_check_write)
        except QueueUnavailable as error:
            return str(error)
        return None

    async def put(
        self, request: Request, *, start: bool = False, key: IdempotencyKey | None = None
    ) -> Accepted:
        if key is not None:
            return await self._writer.do(lambda store: keys.put(store, request, start=start, key=key))
        return await self._writer.do(lambda store: store.put(request, start=start))

    async def find_accepted(self, key: IdempotencyKey) -> Accepted | None:
        return await self._writer.do(lambda store: keys.find_accepted(store, key))

    async def next(self) -> QueuedRequest | None:
        return await self._writer.do(Store.next)

    async def claim(self, request_id: str, *, turn_id: str | None = None) -> Claim:
        return await self._writer.do(lambda store: store.claim(request_id, turn_id=turn_id))

    async def release(self, request_id: str) -> bool:
        return await self._writer.do(lambda store: store.release(request_id))

    async def finish(self, request_id: str, result: ExecutionResult) -> Finished | None:
        return await self._writer.do(lambda store: store.finish(request_id, result))

    async def refuse(
        self, request_id: str, error: str, *, ends_as: Literal["failed", "cancelled"] = "failed"
    ) -> Finished | None:
        return await self._writer.do(lambda store: store.refuse(request_id, error, ends_as=ends_as))

    async def latest_instance(self) -> Instance | None:
        return await self._writer.do(epochs.latest)

    async def observe(self, instance_id: str, *, is_known: bool) -> tuple[Instance, EpochDecision | None]:
        return await self._writer.do(lambda store: epochs.observe(store, instance_id, is_known=is_known))

    async def decide(self, choice: Choice) -> EpochDecision:
        return await self._writer.do(lambda store: epochs.decide(store, choice))

    async def open_turn_id(self) -> str | None:
        return await self._writer.do(turns.open_id)

    async def unfinished_turns(self) -> list[UnfinishedTurn]:
        return await self._writer.do(turns.unfinished)

    async def record_turn(self, request_id: str, outcome: str) -> Finished | None:
        return await self._writer.do(lambda store: turns.record(store, request_id, outcome))

    async def prune(self) -> int:
        dropped = await self._writer.do(lambda store: pruning.prune(store, self._limits, now=clock.now()))
        if dropped:
            await self._writer.do(pruning.release_pages)
        return dropped

    async def close(self) -> None:
        await self._writer.close()


async def open_queue(
    path: Path, *, max_waiting: int = MAX_WAITING, limits: RetentionLimits | None = None
) -> SqliteQueue:
    """Open or create the queue at *path* and fail requests that ran when the last process died.

    A corrupt file is set aside and replaced by a new one; `recovery` reports it.

    Raises:
        QueueUnavailable: The file can't be used.
    """
    # Checking a large file is slow, and other gateways may share this event loop.
    connection, set_aside = await asyncio.to_thread(open_database.open_file, path)
    writer = Writer(connection, Store(connection, max_waiting=max_waiting))
    try:
        failed = await writer.do(open_database.recover)
    except QueueUnavailable:
        await writer.close()
        raise
    return SqliteQueue(
        writer, RecoveryReport(failed=tuple(failed), set_aside=set_aside), limits or RetentionLimits()
    )


def depth_of(path: Path) -> int:
    """Number of open requests in a queue that no gateway has open; 0 when it is missing or unreadable."""
    if not path.exists():
        return 0
    try:
        # In read-only mode SQLite would block on a named pipe.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
            return sum(connection.execute(named()["count"]).fetchone())
    except sqlite3.Error:
        return 0  # the next gateway reports the problem


def _check_write(store: Store) -> None:
    """Make the next commit write a page, which tests whether the disk is writable."""
    store.run("check_write")
    store.run("end_write_check")

"""The queue on SQLite: the contract's calls as jobs of one writer."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Literal

from posthouse.queue import epochs, keys, open_database, pruning, turns
from posthouse.queue.notifier import NotifierBook
from posthouse.queue.notifier_rows import SqliteNotifierBook
from posthouse.queue.pruning import Limits
from posthouse.queue.queue import (
    Accepted,
    Choice,
    Claim,
    Counts,
    Decided,
    Finished,
    Found,
    Instance,
    LeftTurn,
    QueueUnavailable,
    Request,
    Result,
    Row,
)
from posthouse.queue.receipt import Key
from posthouse.queue.receipts import SqliteReceipts
from posthouse.queue.statements import named
from posthouse.queue.store import MAX_WAITING, Store
from posthouse.queue.writer import Writer
from posthouse.support import clock


class SqliteQueue:
    """A `Queue` in one file."""

    def __init__(self, writer: Writer, found: Found, limits: Limits) -> None:
        self._writer = writer
        self._limits = limits
        self.found = found
        self.receipts = SqliteReceipts(writer)
        self.notifier: NotifierBook = SqliteNotifierBook(writer)

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

    async def put(self, request: Request, *, start: bool = False, key: Key | None = None) -> Accepted:
        if key is not None:
            return await self._writer.do(lambda store: keys.put(store, request, start=start, key=key))
        return await self._writer.do(lambda store: store.put(request, start=start))

    async def repeated(self, key: Key) -> Accepted | None:
        return await self._writer.do(lambda store: keys.find(store, key))

    async def next(self) -> Row | None:
        return await self._writer.do(Store.next)

    async def claim(self, request_id: str, *, turn_id: str | None = None) -> Claim:
        return await self._writer.do(lambda store: store.claim(request_id, turn_id=turn_id))

    async def release(self, request_id: str) -> bool:
        return await self._writer.do(lambda store: store.release(request_id))

    async def finish(self, request_id: str, result: Result) -> Finished | None:
        return await self._writer.do(lambda store: store.finish(request_id, result))

    async def refuse(
        self, request_id: str, error: str, *, ends_as: Literal["failed", "cancelled"] = "failed"
    ) -> Finished | None:
        return await self._writer.do(lambda store: store.refuse(request_id, error, ends_as=ends_as))

    async def latest_instance(self) -> Instance | None:
        return await self._writer.do(epochs.latest)

    async def observe(self, instance_id: str, *, is_known: bool) -> tuple[Instance, Decided | None]:
        return await self._writer.do(lambda store: epochs.observe(store, instance_id, is_known=is_known))

    async def decide(self, choice: Choice) -> Decided:
        return await self._writer.do(lambda store: epochs.decide(store, choice))

    async def open_turn_id(self) -> str | None:
        return await self._writer.do(turns.open_id)

    async def left_turns(self) -> list[LeftTurn]:
        return await self._writer.do(turns.left)

    async def record_turn(self, request_id: str, outcome: str) -> Finished | None:
        return await self._writer.do(lambda store: turns.record(store, request_id, outcome))

    async def prune(self) -> int:
        dropped = await self._writer.do(lambda store: pruning.prune(store, self._limits, now=clock.now()))
        if dropped:
            await self._writer.do(pruning.give_back)
        return dropped

    async def close(self) -> None:
        await self._writer.close()


async def open_queue(
    path: Path, *, max_waiting: int = MAX_WAITING, limits: Limits | None = None
) -> SqliteQueue:
    """Open the queue at *path*, creating it if need be, with last time's running requests failed.

    A file that is broken is set aside and a new one begun; `found` tells.

    Raises:
        QueueUnavailable: The file can't be used.
    """
    # Looking through a long file takes a while, and other gateways may live in this loop.
    connection, set_aside = await asyncio.to_thread(open_database.open_file, path)
    writer = Writer(connection, Store(connection, max_waiting=max_waiting))
    try:
        failed = await writer.do(open_database.recover)
    except QueueUnavailable:
        await writer.close()
        raise
    return SqliteQueue(writer, Found(failed=tuple(failed), set_aside=set_aside), limits or Limits())


def depth_of(path: Path) -> int:
    """How many requests wait in a queue that no gateway has open; 0 when there is none to read."""
    if not path.exists():
        return 0
    try:
        # For reading alone, SQLite would wait for the other end of a named pipe.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
            return sum(connection.execute(named()["count"]).fetchone())
    except sqlite3.Error:
        return 0  # the next gateway says what is wrong with it


def _check_write(store: Store) -> None:
    """Have the next commit write a page, so that it shows whether the disk takes one."""
    store.run("check_write")
    store.run("end_write_check")

"""The queue on SQLite: the contract's calls as jobs of one writer."""

import sqlite3
from contextlib import closing
from pathlib import Path

from posthouse.queue.queue import Accepted, Counts, Finished, Instance, QueueUnavailable, Request, Result, Row
from posthouse.queue.statements import named
from posthouse.queue.store import Store, connect
from posthouse.queue.writer import Writer


class SqliteQueue:
    """A `Queue` in one file."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    @property
    def counts(self) -> Counts:
        return self._writer.counts

    async def put(self, request: Request, *, start: bool = False) -> Accepted:
        return await self._writer.do(lambda store: store.put(request, start=start))

    async def next(self, epoch: int) -> Row | None:
        return await self._writer.do(lambda store: store.next(epoch))

    async def claim(self, request_id: str) -> bool:
        return await self._writer.do(lambda store: store.claim(request_id))

    async def release(self, request_id: str) -> bool:
        return await self._writer.do(lambda store: store.release(request_id))

    async def finish(self, request_id: str, result: Result) -> Finished | None:
        return await self._writer.do(lambda store: store.finish(request_id, result))

    async def observe(self, instance_id: str, *, is_known: bool) -> Instance:
        return await self._writer.do(lambda store: store.observe(instance_id, is_known=is_known))

    async def latest_instance(self) -> Instance | None:
        return await self._writer.do(Store.latest_instance)

    async def close(self) -> None:
        await self._writer.close()


async def open_queue(path: Path) -> SqliteQueue:
    """Open the queue at *path*, creating it if need be, with last time's running requests failed.

    Raises:
        QueueUnavailable: The file can't be used.
    """
    connection = connect(path)
    store = Store(connection)
    writer = Writer(connection, store)
    try:
        await writer.do(Store.recover)
    except QueueUnavailable:
        await writer.close()
        raise
    return SqliteQueue(writer)


def depth_of(path: Path) -> int:
    """How many requests wait in a queue that no gateway has open; 0 when there is none to read."""
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return sum(connection.execute(named()["count"]).fetchone())
    except sqlite3.Error:
        return 0  # the next gateway says what is wrong with it

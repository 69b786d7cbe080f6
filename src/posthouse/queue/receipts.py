"""Receipts on SQLite: the contract's calls as jobs of the queue's one writer."""

from collections.abc import Mapping, Sequence
from typing import Any

from posthouse.queue import keys, stages
from posthouse.queue.receipt import Filter, FirstAnswer, Key, Page, Passed, PastQueue, Receipt
from posthouse.queue.writer import Writer


class SqliteReceipts:
    """`Receipts` in the file of a queue."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def accept(self, prompt: PastQueue, *, key: Key | None = None) -> str:
        return await self._writer.do(lambda store: stages.accept(store, prompt, key))

    async def start(self, request_id: str, *, turn_id: str | None = None) -> bool:
        return await self._writer.do(lambda store: stages.start(store, request_id, turn_id))

    async def cancel(self, request_id: str) -> bool:
        return await self._writer.do(lambda store: stages.cancel(store, request_id))

    async def put_back(self, request_id: str) -> None:
        await self._writer.do(lambda store: stages.put_back(store, request_id))

    async def pass_(self, passed: Sequence[Passed]) -> None:
        await self._writer.do(lambda store: stages.record(store, passed))

    async def read(self, request_id: str) -> Receipt | None:
        return await self._writer.do(lambda store: stages.read(store, request_id))

    async def page(self, wanted: Filter) -> Page:
        return await self._writer.do(lambda store: stages.page(store, wanted))

    async def unended(self) -> list[Receipt]:
        return await self._writer.do(stages.unended)

    async def first_answer(self, key: Key) -> FirstAnswer | None:
        return await self._writer.do(lambda store: keys.first_answer(store, key))

    async def keep_answer(self, key: Key, answer: Mapping[str, Any]) -> None:
        await self._writer.do(lambda store: keys.keep_answer(store, key, answer))

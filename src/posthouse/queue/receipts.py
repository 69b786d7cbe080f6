"""`Receipts` on SQLite: each call is a job of the queue's writer thread."""

from collections.abc import Mapping, Sequence
from typing import Any

from posthouse.queue import keys, stages
from posthouse.queue.receipt import (
    DirectPrompt,
    IdempotencyKey,
    Receipt,
    ReceiptFilter,
    ReceiptList,
    StageReached,
    StoredResponse,
)
from posthouse.queue.writer import Writer


class SqliteReceipts:
    """`Receipts` in the database of a queue."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def accept(self, prompt: DirectPrompt, *, key: IdempotencyKey | None = None) -> str:
        return await self._writer.do(lambda store: stages.accept(store, prompt, key))

    async def start(self, request_id: str, *, turn_id: str | None = None) -> bool:
        return await self._writer.do(lambda store: stages.start(store, request_id, turn_id))

    async def cancel(self, request_id: str) -> bool:
        return await self._writer.do(lambda store: stages.cancel(store, request_id))

    async def undo_start(self, request_id: str) -> None:
        await self._writer.do(lambda store: stages.undo_start(store, request_id))

    async def record(self, passed: Sequence[StageReached]) -> None:
        await self._writer.do(lambda store: stages.record(store, passed))

    async def read(self, request_id: str) -> Receipt | None:
        return await self._writer.do(lambda store: stages.read(store, request_id))

    async def page(self, wanted: ReceiptFilter) -> ReceiptList:
        return await self._writer.do(lambda store: stages.page(store, wanted))

    async def unfinished(self) -> list[Receipt]:
        return await self._writer.do(stages.unfinished)

    async def stored_response(self, key: IdempotencyKey) -> StoredResponse | None:
        return await self._writer.do(lambda store: keys.stored_response(store, key))

    async def store_response(self, key: IdempotencyKey, answer: Mapping[str, Any]) -> None:
        await self._writer.do(lambda store: keys.store_response(store, key, answer))

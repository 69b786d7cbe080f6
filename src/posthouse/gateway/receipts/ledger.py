"""Records the stages of prompts: emits them to journal and waiters at once, then writes them to disk.

Stages that decide whether a prompt runs (accepted, started, the end of a row) are written in the transaction
that causes them. The others are written here, in order and in the background.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from posthouse.agent.adapter import OnProgress, PromptProgress, PromptResult
from posthouse.errors import NotFound, Unavailable
from posthouse.events.journal import Journal
from posthouse.queue import ENDS, QueueUnavailable, Receipt, Receipts, ReceiptStage, StageName, StageReached
from posthouse.support import clock, crashpoints

#: A longer answer is in the turn's artifacts, or in the agent's own transcript.
MAX_ANSWER_CHARACTERS = 64 * 1024
_MAX_ERROR_CHARACTERS = 4000
#: Each waiter holds a connection.
_MAX_WAITING = 100
#: Far more requests than are active at one time.
_MAX_REMEMBERED = 2000
_RETRY_SECONDS = 1.0
_MAX_RETRY_SECONDS = 30.0


class Ledger:
    """The stages of one gateway's prompts."""

    def __init__(self, receipts: Receipts, journal: Journal, log: logging.Logger) -> None:
        self._receipts = receipts
        self._journal = journal
        self._log = log
        self._pending: list[StageReached] = []
        self._write_lock = asyncio.Lock()
        self._has_pending = asyncio.Event()
        self._waiting: dict[str, set[asyncio.Event]] = {}
        #: The emitted stages of the newest requests, so that none is emitted twice.
        self._emitted: OrderedDict[str, set[StageName]] = OrderedDict()

    def recorder(self, request_id: str) -> OnProgress:
        """A callback that records the progress of *request_id* at the agent."""

        def record(news: PromptProgress | PromptResult) -> None:
            if isinstance(news, PromptProgress):
                self.record(request_id, news.stage, {"evidence": dict(news.evidence)})
            else:
                self.record_end(request_id, news)

        return record

    def record(self, request_id: str, name: StageName, detail: Mapping[str, Any] | None = None) -> None:
        """Record a stage of *request_id*, now. Never fails; it reaches the disk a little later."""
        if name in self._emitted.get(request_id, ()):
            return
        stage = ReceiptStage(name=name, at_utc=clock.iso_micros(clock.now()), detail=detail or {})
        self._pending.append(StageReached(request_id=request_id, stage=stage))
        self._has_pending.set()
        self.emit(request_id, name, stage.detail)

    def record_end(self, request_id: str, ending: PromptResult) -> None:
        """Record the end of the turn of *request_id*."""
        self.record(request_id, ending.outcome, detail_of(ending))

    def emit(self, request_id: str, name: StageName, detail: Mapping[str, Any] | None = None) -> None:
        """Emit a stage that is on disk already; a repetition is ignored."""
        emitted = self._emitted.setdefault(request_id, set())
        if name in emitted or emitted.intersection(ENDS):
            return
        emitted.add(name)
        while len(self._emitted) > _MAX_REMEMBERED:
            self._emitted.popitem(last=False)
        evidence = (detail or {}).get("evidence", {})
        self._journal.add("request_stage", request_id=request_id, stage=name, evidence=evidence)
        for waiter in self._waiting.get(request_id, ()):
            waiter.set()

    def has_reached_agent(self, request_id: str) -> bool:
        """Whether a recorded stage shows that something was typed or run."""
        return not self._emitted.get(request_id, set()).isdisjoint(("typed", "submitted", "acknowledged"))

    async def run(self) -> None:
        """Write recorded stages until cancelled. Disk errors are retried with backoff."""
        delay = _RETRY_SECONDS
        while True:
            await self._has_pending.wait()
            try:
                await self.flush()
                delay = _RETRY_SECONDS
            except QueueUnavailable as error:
                self._log.error("receipt stages can't be written; retrying", extra={"error": str(error)})
                await asyncio.sleep(delay)
                delay = min(delay * 2, _MAX_RETRY_SECONDS)

    async def flush(self) -> None:
        """Return when all recorded stages are on disk.

        Raises:
            QueueUnavailable: The disk write failed; `run` retries it.
        """
        async with self._write_lock:
            self._has_pending.clear()
            if not self._pending:
                return
            batch = list(self._pending)
            crashpoints.reach("stages told")
            try:
                await self._receipts.record(batch)
            except QueueUnavailable:
                self._has_pending.set()
                raise
            del self._pending[: len(batch)]
            crashpoints.reach("stages written")

    async def read(self, request_id: str) -> Receipt:
        """The receipt, with all stages recorded so far.

        Raises:
            NotFound: `unknown_request`.
            QueueUnavailable: The disk access failed.
        """
        await self.flush()
        receipt = await self._receipts.read(request_id)
        if receipt is None:
            raise NotFound(
                f"there is no request {request_id!r}; finished requests are kept for a limited time, "
                "GET /v1/requests lists them",
                code="unknown_request",
            )
        return receipt

    async def wait(self, request_id: str, until: StageName | None, *, seconds: float) -> Receipt:
        """The receipt once it has reached *until* (None: its end), or its state after *seconds*.

        Raises:
            NotFound, QueueUnavailable: As `read`.
            Unavailable: `too_many_wait`: the limit of waiting callers is reached.
        """
        if sum(map(len, self._waiting.values())) >= _MAX_WAITING:
            raise Unavailable(
                f"{_MAX_WAITING} callers wait for receipts already; retry without wait, or later",
                code="too_many_wait",
            )
        changed = asyncio.Event()
        self._waiting.setdefault(request_id, set()).add(changed)
        try:
            async with asyncio.timeout(seconds):
                while not (receipt := await self.read(request_id)).has_reached(until):
                    await changed.wait()
                    changed.clear()
            return receipt
        except TimeoutError:
            return await self.read(request_id)
        finally:
            self._waiting[request_id].discard(changed)
            if not self._waiting[request_id]:
                del self._waiting[request_id]


def detail_of(ending: PromptResult) -> dict[str, Any]:
    """The stored detail of an ending. Pure."""
    detail: dict[str, Any] = {"evidence": dict(ending.evidence)}
    if ending.answer is not None:
        detail["answer"] = ending.answer[:MAX_ANSWER_CHARACTERS]
        detail["answer_is_cut"] = len(ending.answer) > MAX_ANSWER_CHARACTERS
    if ending.error is not None:
        detail["error"] = ending.error[:_MAX_ERROR_CHARACTERS]
    if ending.usage is not None:
        detail["usage"] = dict(ending.usage)
    if ending.cost_usd is not None:
        detail["cost_usd"] = ending.cost_usd
    return detail

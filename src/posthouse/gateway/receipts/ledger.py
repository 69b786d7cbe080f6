"""Where stages are told: on to the journal and whoever waits at once, and to the disk right behind them.

The stages that decide whether something is carried out (accepted, started, an end that a row has) are written
in the transaction that makes them so. The others are written here, in their order, off everybody's way.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from posthouse.agent.adapter import Ending, Step, Tell
from posthouse.errors import NotFound, Unavailable
from posthouse.events.journal import Journal
from posthouse.queue import ENDS, Passed, QueueUnavailable, Receipt, Receipts, Stage, StageName
from posthouse.support import clock, crashpoints

#: A longer answer is in the turn's artifacts, or in the agent's own transcript.
MAX_ANSWER_CHARACTERS = 64 * 1024
_MAX_ERROR_CHARACTERS = 4000
#: Each holds a connection; a caller who would be one more asks again a little later.
_MAX_WAITING = 100
#: Far more than are on their way at one time.
_REMEMBERED = 2000
_RETRY_SECONDS = 1.0
_LAST_RETRY_SECONDS = 30.0


class UnknownRequest(NotFound):
    """There is no receipt of that id (any more)."""

    code = "unknown_request"

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"there is no request {request_id!r}; finished ones are kept for a while only, "
            "GET /v1/requests lists them"
        )


class TooManyWait(Unavailable):
    """Enough callers wait for receipts."""

    code = "too_many_wait"

    def __init__(self) -> None:
        super().__init__(f"{_MAX_WAITING} callers wait for receipts already; ask without wait, or later")


class Ledger:
    """The stages of one gateway's prompts."""

    def __init__(self, receipts: Receipts, journal: Journal, log: logging.Logger) -> None:
        self._receipts = receipts
        self._journal = journal
        self._log = log
        self._pending: list[Passed] = []
        self._is_writing = asyncio.Lock()
        self._has_pending = asyncio.Event()
        self._waiting: dict[str, set[asyncio.Event]] = {}
        #: What was told of the newest requests, so that nothing is told twice.
        self._told: OrderedDict[str, set[StageName]] = OrderedDict()

    def teller(self, request_id: str) -> Tell:
        """Hears what becomes of *request_id* at the agent."""

        def tell(news: Step | Ending) -> None:
            if isinstance(news, Step):
                self.passed(request_id, news.stage, {"evidence": dict(news.evidence)})
            else:
                self.ended(request_id, news)

        return tell

    def passed(self, request_id: str, name: StageName, detail: Mapping[str, Any] | None = None) -> None:
        """Record that *request_id* has passed a stage just now. Never fails; it is on disk a little later."""
        if name in self._told.get(request_id, ()):
            return
        stage = Stage(name=name, at_utc=clock.iso_micros(clock.now()), detail=detail or {})
        self._pending.append(Passed(request_id=request_id, stage=stage))
        self._has_pending.set()
        self.tell(request_id, name, stage.detail)

    def ended(self, request_id: str, ending: Ending) -> None:
        """Record how the turn of *request_id* ended."""
        self.passed(request_id, ending.outcome, detail_of(ending))

    def tell(self, request_id: str, name: StageName, detail: Mapping[str, Any] | None = None) -> None:
        """Tell of a stage that is on disk already; a second time is overlooked."""
        told = self._told.setdefault(request_id, set())
        if name in told or told.intersection(ENDS):
            return
        told.add(name)
        while len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        evidence = (detail or {}).get("evidence", {})
        self._journal.add("request_stage", request_id=request_id, stage=name, evidence=evidence)
        for waiter in self._waiting.get(request_id, ()):
            waiter.set()

    def has_reached_agent(self, request_id: str) -> bool:
        """Whether anything of it was typed or run, as far as was told."""
        return not self._told.get(request_id, set()).isdisjoint(("typed", "submitted", "acknowledged"))

    async def run(self) -> None:
        """Write what is told, until cancelled. A disk that refuses is asked ever more rarely."""
        delay = _RETRY_SECONDS
        while True:
            await self._has_pending.wait()
            try:
                await self.flush()
                delay = _RETRY_SECONDS
            except QueueUnavailable as error:
                self._log.error("stages can't be written; trying again", extra={"error": str(error)})
                await asyncio.sleep(delay)
                delay = min(delay * 2, _LAST_RETRY_SECONDS)

    async def flush(self) -> None:
        """Return when everything that was told is on disk.

        Raises:
            QueueUnavailable: The disk said no; it is tried again.
        """
        async with self._is_writing:
            self._has_pending.clear()
            if not self._pending:
                return
            batch = list(self._pending)
            crashpoints.reach("stages told")
            try:
                await self._receipts.pass_(batch)
            except QueueUnavailable:
                self._has_pending.set()
                raise
            del self._pending[: len(batch)]
            crashpoints.reach("stages written")

    async def read(self, request_id: str) -> Receipt:
        """The receipt, with everything that was told up to now.

        Raises:
            UnknownRequest: There is none.
            QueueUnavailable: The disk refuses.
        """
        await self.flush()
        receipt = await self._receipts.read(request_id)
        if receipt is None:
            raise UnknownRequest(request_id)
        return receipt

    async def wait(self, request_id: str, until: StageName | None, *, seconds: float) -> Receipt:
        """The receipt once it has reached *until* (None: its end), or as it is after *seconds*.

        Raises:
            UnknownRequest, QueueUnavailable: As `read`.
            TooManyWait: Others wait already.
        """
        if sum(map(len, self._waiting.values())) >= _MAX_WAITING:
            raise TooManyWait
        news = asyncio.Event()
        self._waiting.setdefault(request_id, set()).add(news)
        try:
            async with asyncio.timeout(seconds):
                while not (receipt := await self.read(request_id)).has_reached(until):
                    await news.wait()
                    news.clear()
            return receipt
        except TimeoutError:
            return await self.read(request_id)
        finally:
            self._waiting[request_id].discard(news)
            if not self._waiting[request_id]:
                del self._waiting[request_id]


def detail_of(ending: Ending) -> dict[str, Any]:
    """What is kept of an ending. Pure."""
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

"""The receipts of one gateway: begun, told on, followed to their end, taken back, and shown."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from posthouse.agent.adapter import AgentAdapter, AgentBusy, Ending, Prompt, Step, Tell, Unproven
from posthouse.errors import Conflict, PosthouseError
from posthouse.events.journal import Journal
from posthouse.gateway.receipts.ledger import Ledger
from posthouse.gateway.receipts.transcript_follower import Follower
from posthouse.queue import (
    Filter,
    Finished,
    Key,
    Page,
    PastQueue,
    Queue,
    QueueUnavailable,
    Receipt,
    StageName,
)
from posthouse.support import clock, crashpoints

BROKEN_OFF = "the gateway stopped or failed while this was given to the agent; it may have reached it"
CANCELLED = "cancelled: somebody took the request back before it was given to the agent"


class NotCancellable(Conflict):
    """It has started, or is over; nothing was changed."""

    code = "not_cancellable"


class Cancelled(Conflict):
    """Somebody took the prompt back while it waited."""

    code = "cancelled"

    def __init__(self) -> None:
        super().__init__(CANCELLED)


class ReceiptBook:
    """Every prompt's receipt."""

    def __init__(
        self,
        queue: Queue,
        adapter: AgentAdapter,
        journal: Journal,
        log: logging.Logger,
        *,
        on_finished: Callable[[Finished], None],
    ) -> None:
        self._queue = queue
        self._adapter = adapter
        self._log = log
        #: Tells the world of a request that was taken back.
        self._on_finished = on_finished
        self.ledger = Ledger(queue.receipts, journal, log)
        self.follower = Follower(adapter, self.ledger, log)

    async def begin(self) -> None:
        """Take up the prompts whose end an earlier gateway did not see."""
        if not self._adapter.is_headless:
            self.follower.resume(await self._queue.receipts.unended())

    async def close(self) -> None:
        """Write what was told and is not on disk yet."""
        try:
            await self.ledger.flush()
        except QueueUnavailable as error:
            self._log.error("the last stages are lost", extra={"error": str(error)})

    async def accept(self, prompt: PastQueue, *, key: Key | None = None) -> str:
        """Begin the receipt of a prompt that goes past the queue; its id. It is on disk.

        Raises:
            KeyReused, QueueUnavailable: Nothing was accepted.
        """
        request_id = await self._queue.receipts.accept(prompt, key=key)
        crashpoints.reach("prompt accepted")
        self.ledger.tell(request_id, "accepted")
        return request_id

    @asynccontextmanager
    async def giving(self, request_id: str, prompt: Prompt) -> AsyncIterator[Tell]:
        """What hears of *prompt*, which is given to the agent in the body, past the queue.

        That it is, is on disk before: what dies from there on is uncertain. A body that ends with `AgentBusy`
        gave nothing, and it may be tried again.

        Raises:
            Cancelled: Somebody took it back.
            QueueUnavailable: The disk said no; nothing may be given.
        """
        if not await self._queue.receipts.start(request_id, turn_id=prompt.turn_id):
            raise Cancelled
        crashpoints.reach("prompt started")
        self.ledger.tell(request_id, "started")
        try:
            yield self.teller(request_id, prompt.text)
        except AgentBusy:
            await self._queue.receipts.put_back(request_id)
            raise

    def teller(self, request_id: str, prompt: str) -> Tell:
        """Hears what becomes of *prompt* at the agent. A TUI's is followed as soon as it was typed."""
        tell, since = self.ledger.teller(request_id), clock.now()

        def heard(news: Step | Ending) -> None:
            tell(news)
            if isinstance(news, Ending):
                self.follower.forget(request_id)
            elif news.stage == "typed":
                self.follower.expect(request_id, prompt, since)
            elif news.stage == "acknowledged":
                self.follower.acknowledged(request_id)

        return heard

    def failed(self, request_id: str, error: BaseException) -> None:
        """Tell that giving a prompt to the agent, past the queue, ended with *error*."""
        if isinstance(error, Cancelled):
            return  # whoever took it back has told so
        words = str(error) if isinstance(error, PosthouseError) else BROKEN_OFF
        name: StageName = "unknown" if self.is_uncertain(request_id, error) else "failed"
        self.ledger.passed(request_id, name, {"error": words})

    def is_uncertain(self, request_id: str, error: BaseException) -> bool:
        """Whether a prompt whose giving ended with *error* may be with the agent all the same."""
        is_clear = isinstance(error, PosthouseError) and not isinstance(error, Unproven)
        return not is_clear or self.ledger.has_reached_agent(request_id)

    async def read(self, request_id: str, *, until: StageName | None, wait_seconds: float) -> Receipt:
        """One receipt, once it has reached *until* (None: its end) or *wait_seconds* passed.

        Raises:
            UnknownRequest, TooManyWait, QueueUnavailable: As the ledger.
        """
        if wait_seconds <= 0:
            return await self.ledger.read(request_id)
        return await self.ledger.wait(request_id, until, seconds=wait_seconds)

    async def page(self, wanted: Filter) -> Page:
        """The newest receipts that fit *wanted*."""
        await self.ledger.flush()
        return await self._queue.receipts.page(wanted)

    async def cancel(self, request_id: str) -> Receipt:
        """Take a request back that the agent was not given yet; its receipt after that.

        Raises:
            UnknownRequest: There is none.
            NotCancellable: It has started, or is over.
            QueueUnavailable: The disk said no; nothing was changed.
        """
        receipt = await self.ledger.read(request_id)
        if receipt.row_state is None:
            was_taken_back = await self._queue.receipts.cancel(request_id)
            if was_taken_back:
                self.ledger.tell(request_id, "cancelled")
        else:
            finished = await self._queue.refuse(request_id, CANCELLED, ends_as="cancelled")
            was_taken_back = finished is not None
            if finished is not None:
                self._on_finished(finished)
        if not was_taken_back:
            raise NotCancellable(_why_not(await self.ledger.read(request_id)))
        crashpoints.reach("request cancelled")
        return await self.ledger.read(request_id)


def _why_not(receipt: Receipt) -> str:
    if receipt.state == "running":
        return f"request {receipt.request_id} is being carried out; interrupt the agent to stop it"
    return f"request {receipt.request_id} is over: {receipt.state}"

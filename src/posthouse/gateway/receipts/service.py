"""The receipts of one gateway: created, recorded, followed to their end, cancelled and read."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from posthouse.agent.adapter import (
    AgentAdapter,
    AgentBusy,
    OnProgress,
    Prompt,
    PromptProgress,
    PromptResult,
    PromptUnconfirmed,
)
from posthouse.errors import Conflict, PosthouseError
from posthouse.events.journal import Journal
from posthouse.gateway.receipts.ledger import Ledger
from posthouse.gateway.receipts.transcript_follower import TranscriptFollower
from posthouse.queue import (
    DirectPrompt,
    Finished,
    IdempotencyKey,
    Queue,
    QueueUnavailable,
    Receipt,
    ReceiptFilter,
    ReceiptList,
    StageName,
)
from posthouse.support import clock, crashpoints

DELIVERY_INTERRUPTED = (
    "the gateway stopped or failed during the delivery to the agent; the prompt may have reached it"
)
CANCELLED = "cancelled: the request was cancelled before its delivery to the agent"


class Cancelled(Conflict):
    """The prompt was cancelled while it waited."""

    code = "cancelled"

    def __init__(self) -> None:
        super().__init__(CANCELLED)


class ReceiptService:
    """The receipts of all prompts."""

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
        #: Called with each cancelled queued request.
        self._on_finished = on_finished
        self.ledger = Ledger(queue.receipts, journal, log)
        self.follower = TranscriptFollower(adapter, self.ledger, log)

    async def resume(self) -> None:
        """Resume following prompts of an earlier gateway that have no recorded end."""
        if not self._adapter.is_headless:
            self.follower.resume(await self._queue.receipts.unfinished())

    async def close(self) -> None:
        """Write the recorded stages that are not on disk yet."""
        try:
            await self.ledger.flush()
        except QueueUnavailable as error:
            self._log.error("last receipt stages lost", extra={"error": str(error)})

    async def accept(self, prompt: DirectPrompt, *, key: IdempotencyKey | None = None) -> str:
        """Create the receipt of a prompt that bypasses the queue, on disk. Returns its id.

        Raises:
            InvalidInput, QueueUnavailable: Nothing was accepted.
        """
        request_id = await self._queue.receipts.accept(prompt, key=key)
        crashpoints.reach("prompt accepted")
        self.ledger.emit(request_id, "accepted")
        return request_id

    @asynccontextmanager
    async def delivery(self, request_id: str, prompt: Prompt) -> AsyncIterator[OnProgress]:
        """A callback that records the progress of *prompt*, whose delivery past the queue is the body.

        The start is on disk before the body runs; after a crash from there on the outcome is unknown. A body
        that raises `AgentBusy` delivered nothing and may be retried.

        Raises:
            Cancelled: The prompt was cancelled.
            QueueUnavailable: The disk write failed; nothing may be delivered.
        """
        if not await self._queue.receipts.start(request_id, turn_id=prompt.turn_id):
            raise Cancelled
        crashpoints.reach("prompt started")
        self.ledger.emit(request_id, "started")
        try:
            yield self.recorder(request_id, prompt.text)
        except AgentBusy:
            await self._queue.receipts.undo_start(request_id)
            raise

    def recorder(self, request_id: str, prompt: str) -> OnProgress:
        """A callback that records the progress of *prompt*. A TUI prompt is followed once it is typed."""
        record, since = self.ledger.recorder(request_id), clock.now()

        def on_progress(progress: PromptProgress | PromptResult) -> None:
            record(progress)
            if isinstance(progress, PromptResult):
                self.follower.forget(request_id)
            elif progress.stage == "typed":
                self.follower.expect(request_id, prompt, since)
            elif progress.stage == "acknowledged":
                self.follower.acknowledged(request_id)

        return on_progress

    def failed(self, request_id: str, error: BaseException) -> None:
        """Record that the delivery of a prompt past the queue failed with *error*."""
        if isinstance(error, Cancelled):
            return  # `cancel` has recorded it
        message = str(error) if isinstance(error, PosthouseError) else DELIVERY_INTERRUPTED
        name: StageName = "unknown" if self.is_uncertain(request_id, error) else "failed"
        self.ledger.record(request_id, name, {"error": message})

    def is_uncertain(self, request_id: str, error: BaseException) -> bool:
        """Whether a prompt may have reached the agent although its delivery failed with *error*."""
        is_clear = isinstance(error, PosthouseError) and not isinstance(error, PromptUnconfirmed)
        return not is_clear or self.ledger.has_reached_agent(request_id)

    async def read(self, request_id: str, *, until: StageName | None, wait_seconds: float) -> Receipt:
        """One receipt, once it has reached *until* (None: its end) or *wait_seconds* passed.

        Raises:
            NotFound, Unavailable, QueueUnavailable: As `Ledger.read` and `Ledger.wait`.
        """
        if wait_seconds <= 0:
            return await self.ledger.read(request_id)
        return await self.ledger.wait(request_id, until, seconds=wait_seconds)

    async def page(self, wanted: ReceiptFilter) -> ReceiptList:
        """The newest receipts that match *wanted*."""
        await self.ledger.flush()
        return await self._queue.receipts.page(wanted)

    async def cancel(self, request_id: str) -> Receipt:
        """Cancel a request that was not delivered yet. Returns its updated receipt.

        Raises:
            NotFound: `unknown_request`.
            Conflict: `not_cancellable`: it has started or ended.
            QueueUnavailable: The disk write failed; nothing was changed.
        """
        receipt = await self.ledger.read(request_id)
        if receipt.row_state is None:
            was_taken_back = await self._queue.receipts.cancel(request_id)
            if was_taken_back:
                self.ledger.emit(request_id, "cancelled")
        else:
            finished = await self._queue.refuse(request_id, CANCELLED, ends_as="cancelled")
            was_taken_back = finished is not None
            if finished is not None:
                self._on_finished(finished)
        if not was_taken_back:
            receipt = await self.ledger.read(request_id)
            raise Conflict(_not_cancellable_reason(receipt), code="not_cancellable")
        crashpoints.reach("request cancelled")
        return await self.ledger.read(request_id)


def _not_cancellable_reason(receipt: Receipt) -> str:
    if receipt.state == "running":
        return f"request {receipt.request_id} is running; interrupt the agent to stop it"
    return f"request {receipt.request_id} has ended: {receipt.state}"

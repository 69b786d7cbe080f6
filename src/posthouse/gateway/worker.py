"""Runs accepted requests one at a time, in the order of arrival."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import TypeVar

from posthouse.agent.adapter import AgentAdapter, AgentBusy, AgentGone, Prompt, PromptFailed, RunningTurn
from posthouse.errors import PosthouseError
from posthouse.events.journal import Journal
from posthouse.gateway.receipts.service import ReceiptService
from posthouse.gateway.slot import Slot
from posthouse.queue import (
    Coalesced,
    ExecutionResult,
    Finished,
    Instance,
    Queue,
    QueuedRequest,
    QueueUnavailable,
)
from posthouse.support import crashpoints
from posthouse.turns.runner import new_turn_id

T = TypeVar("T")

INTERRUPT = "interrupt"
_PROMPT_KINDS = ("submit_prompt", "mail_notifier_prompt")
STOPPED = "the gateway was stopped while this request ran; the agent may go on with it"
AGENT_REPLACED = "the agent instance that this request was accepted for was replaced before it got it"
_RETRY_SECONDS = 1.0
#: Maximum of the exponential backoff.
_MAX_RETRY_SECONDS = 30.0
#: Longer than a commit takes on a slow disk; a full disk must not prevent a gateway from stopping.
_STOP_SECONDS = 5.0


class Worker:
    """Takes the execution slot for queued requests."""

    def __init__(
        self,
        queue: Queue,
        adapter: AgentAdapter,
        journal: Journal,
        log: logging.Logger,
        *,
        slot: Slot,
        carry_out: Callable[[str, Prompt], Awaitable[None]],
        receipts: ReceiptService,
        open_instance: Callable[[], Instance | None],
        on_change: Callable[[], None],
        on_finish: Callable[[Finished], None] = lambda finished: None,
    ) -> None:
        self._queue = queue
        self._adapter = adapter
        self._journal = journal
        self._log = log
        #: Delivers a prompt through the adapter and keeps its records.
        self._deliver_prompt = carry_out
        self._receipts = receipts
        #: The agent instance that may receive work now; None without one.
        self._open_instance = open_instance
        self._on_change = on_change
        self._on_finish = on_finish
        self._wake = asyncio.Event()
        #: Held while something types or runs, but not while waiting for readiness.
        self._slot = slot

    def wake(self) -> None:
        """Check the queue: a request arrived or the agent changed."""
        self._wake.set()

    async def run(self) -> None:
        """Run until cancelled. A request that is running then fails, because its end can't be observed."""
        self._wake.set()  # an earlier run may have failed with work left
        delay = _RETRY_SECONDS
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while await self._step():
                    delay = _RETRY_SECONDS
            except QueueUnavailable as error:
                self._log.error("queue unavailable; retrying", extra={"error": str(error)})
                asyncio.get_running_loop().call_later(delay, self.wake)
                delay = min(delay * 2, _MAX_RETRY_SECONDS)

    async def interrupt(self, request_id: str, turn: RunningTurn) -> None:
        """Apply a started interrupt to *turn*, at once and without the slot."""
        await self._settle(request_id, turn.interrupt())

    def report_finished(self, finished: Finished) -> None:
        """Write the end of a request to journal, log and receipt."""
        self._journal.add(
            finished.state,
            request_id=finished.request_id,
            error_detail=finished.error,
            result_json=finished.result,
        )
        self._log.info(f"request {finished.state}", extra={"request_id": finished.request_id})
        if finished.ends_as is not None:
            self._receipts.ledger.emit(finished.request_id, finished.ends_as)
        self._on_finish(finished)
        self._on_change()

    async def _step(self) -> bool:
        """Run the next request. False: there is none that may run now."""
        row = await self._next()
        if row is None:
            return False
        if row.kind != INTERRUPT:
            try:
                await self._adapter.wait_ready()
            except AgentGone:
                # Its return wakes the worker; an agent that only seemed gone never returns.
                asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._wake_if_open)
                return False
        was_taken = True
        async with self._slot.work("a queued request"):
            # During the wait the agent may have been replaced, so that this row may not run, or another
            # control intent may have arrived, which goes first or replaces this one.
            turn_id, instance = self._turn_id(row), self._open_instance()
            if instance is not None and instance.epoch == row.carrier and await self._claim(row, turn_id):
                was_taken = await self._carry_out(row, turn_id, instance)
        self._on_change()
        if not was_taken:
            await asyncio.sleep(_RETRY_SECONDS)
        return True

    def _wake_if_open(self) -> None:
        if self._open_instance() is not None:
            self.wake()

    async def _next(self) -> QueuedRequest | None:
        """The next request that may run now. Requests for a replaced instance are failed on the way."""
        while self._open_instance() is not None:
            row = await self._queue.next()
            instance = self._open_instance()  # read again: it may have changed
            if row is None or instance is None:
                return None
            reason = row.defect or _epoch_error(row, instance) or _defect_of(row)
            if reason is None:
                return row
            if (refused := await self._queue.refuse(row.request_id, reason)) is not None:
                self.report_finished(refused)
        return None

    def _turn_id(self, row: QueuedRequest) -> str | None:
        """The id of the turn that will run *row*, if it needs one. It is recorded before the turn starts, so
        that the turn can be found after a crash."""
        if row.kind == INTERRUPT or not self._adapter.is_headless:
            return None
        return row.payload.get("turn_id") or new_turn_id()

    async def _claim(self, row: QueuedRequest, turn_id: str | None) -> bool:
        claim = await self._queue.claim(row.request_id, turn_id=turn_id)
        if claim.coalesced is not None:
            self._coalesced(claim.coalesced)
        if claim.is_taken:
            self._receipts.ledger.emit(row.request_id, "started")
        return claim.is_taken

    def _coalesced(self, coalesced: Coalesced) -> None:
        self._journal.add(
            "coalesced",
            coalesced_at_utc=coalesced.coalesced_at_utc,
            coalesced_request_ids=coalesced.request_ids,
            effective_request_ids=coalesced.effective_request_ids,
            effective_actions=coalesced.effective_actions,
            next_request_id=coalesced.next_request_id,
        )
        for request_id in coalesced.request_ids:
            self._receipts.ledger.emit(request_id, "coalesced")
        self._log.info("control intents coalesced", extra={"count": len(coalesced.request_ids)})

    async def _carry_out(self, row: QueuedRequest, turn_id: str | None, instance: Instance) -> bool:
        """Run a claimed row. False: the agent took nothing, and the row is queued again."""
        self._on_change()
        crashpoints.reach("request claimed")
        if row.kind == INTERRUPT:
            return await self._settle(row.request_id, self._interrupt_now())
        prompt = replace(
            Prompt.from_payload(row.payload),
            turn_id=turn_id or row.payload.get("turn_id"),
            instance_id=instance.instance_id,
        )
        return await self._settle(
            row.request_id, self._deliver_prompt(row.request_id, prompt), ends=self._adapter.is_headless
        )

    async def _interrupt_now(self) -> None:
        turn = await self._adapter.running_turn()
        if turn is not None:
            await turn.interrupt()

    async def _settle(self, request_id: str, action: Awaitable[object], *, ends: bool = True) -> bool:
        """Run *action* and record its outcome, also after a failure. False: nothing was delivered.

        With *ends* the request ends with the action; the turn of a TUI continues.
        """
        try:
            await action
        except asyncio.CancelledError:
            result = ExecutionResult(state="failed", error=STOPPED, turn_goes_on=True, ends_as="unknown")
            self._report(await self._queue.finish(request_id, result))
            raise
        except AgentBusy as error:
            self._log.info("request queued again", extra={"request_id": request_id, "reason": str(error)})
            await self._retry(lambda: self._queue.release(request_id))
            return False
        except PosthouseError as error:
            result = self._failed(request_id, error)
        except Exception as error:  # noqa: BLE001 - the worker must outlive one bad request
            self._log.exception("request failed unexpectedly", extra={"request_id": request_id})
            reason = f"the gateway failed: {type(error).__name__}; its log has the details"
            result = self._failed(request_id, PromptFailed(reason))
        else:
            crashpoints.reach("request carried out")
            result = ExecutionResult(state="completed", ends_as="completed" if ends else None)
        await _shielded(self._write_end(request_id, result))
        return True

    async def _write_end(self, request_id: str, result: ExecutionResult) -> None:
        # Earlier stages are written before the end.
        await self._retry(self._receipts.ledger.flush)
        self._report(await self._retry(lambda: self._queue.finish(request_id, result)))

    def _failed(self, request_id: str, error: PosthouseError) -> ExecutionResult:
        is_uncertain = self._receipts.is_uncertain(request_id, error)
        return ExecutionResult(
            state="failed", error=str(error), ends_as="unknown" if is_uncertain else "failed"
        )

    def _report(self, finished: Finished | None) -> None:
        if finished is not None:
            self.report_finished(finished)

    async def _retry(self, write: Callable[[], Awaitable[T]]) -> T:
        """Retry *write* with backoff until it succeeds: the agent's work can't be repeated."""
        delay = _RETRY_SECONDS
        while True:
            try:
                return await write()
            except QueueUnavailable as error:
                self._log.error("outcome can't be written; retrying", extra={"error": str(error)})
            await asyncio.sleep(delay)
            delay = min(delay * 2, _MAX_RETRY_SECONDS)


def _epoch_error(row: QueuedRequest, instance: Instance) -> str | None:
    """Why *row* is not for *instance*; None when it is."""
    if row.carrier == instance.epoch:
        return None
    # Another program wrote a future epoch, which would block everything behind it.
    return (
        AGENT_REPLACED
        if row.carrier < instance.epoch
        else f"there is no agent instance of epoch {row.carrier} yet"
    )


def _defect_of(row: QueuedRequest) -> str | None:
    """Why a readable *row* can never be run; None when it can."""
    if row.kind == INTERRUPT:
        return None
    if row.kind not in _PROMPT_KINDS:
        return f"unsupported request kind {row.kind!r}"
    try:
        text = Prompt.from_payload(row.payload).text
    except (AttributeError, KeyError, TypeError) as error:
        return f"payload_json is not a prompt's: {type(error).__name__}: {error}"
    return None if isinstance(text, str) else "payload_json is not a prompt's: the prompt is not a string"


async def _shielded(operation: Coroutine[None, None, None]) -> None:
    """Finish *operation* before a cancellation takes effect, so that what is on disk is also reported."""
    task = asyncio.ensure_future(operation)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=_STOP_SECONDS)
        task.cancel()
        raise

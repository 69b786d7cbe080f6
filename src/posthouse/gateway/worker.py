"""Carries out what was accepted, one request at a time, in the order of arrival."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import TypeVar

from posthouse.agent.adapter import AgentAdapter, AgentBusy, AgentGone, Prompt, PromptFailed, RunningTurn
from posthouse.errors import PosthouseError
from posthouse.events.journal import Journal
from posthouse.gateway.receipts.service import ReceiptBook
from posthouse.gateway.slot import Slot
from posthouse.queue import Coalesced, Finished, Instance, Queue, QueueUnavailable, Result, Row
from posthouse.support import crashpoints
from posthouse.turns.runner import new_turn_id

T = TypeVar("T")

INTERRUPT = "interrupt"
_PROMPT_KINDS = ("submit_prompt", "mail_notifier_prompt")
STOPPED = "the gateway was stopped while this request ran; the agent may go on with it"
STRAY = "the agent instance that this request was accepted for was replaced before it got it"
_RETRY_SECONDS = 1.0
#: A disk that refuses is asked ever more rarely.
_LAST_RETRY_SECONDS = 30.0
#: Longer than a commit takes on a slow disk; a full one must not keep a gateway from ending.
_STOP_SECONDS = 5.0


class Worker:
    """The one holder of the execution slot, as far as queued requests go."""

    def __init__(
        self,
        queue: Queue,
        adapter: AgentAdapter,
        journal: Journal,
        log: logging.Logger,
        *,
        slot: Slot,
        carry_out: Callable[[str, Prompt], Awaitable[None]],
        book: ReceiptBook,
        open_instance: Callable[[], Instance | None],
        on_change: Callable[[], None],
        on_finish: Callable[[Finished], None] = lambda finished: None,
    ) -> None:
        self._queue = queue
        self._adapter = adapter
        self._journal = journal
        self._log = log
        #: The adapter's, with whatever else belongs to giving a prompt to the agent.
        self._give = carry_out
        self._book = book
        #: The agent instance that may be given work now; None while none may.
        self._open_instance = open_instance
        self._on_change = on_change
        self._on_finish = on_finish
        self._wake = asyncio.Event()
        #: Held by whatever types or runs; waiting for readiness does not hold it.
        self._slot = slot

    def wake(self) -> None:
        """Something changed: a request came, or the agent did."""
        self._wake.set()

    async def run(self) -> None:
        """Work until cancelled. A request that is running then is failed, for nobody will see its end."""
        self._wake.set()  # an earlier run may have died with work left
        delay = _RETRY_SECONDS
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while await self._step():
                    delay = _RETRY_SECONDS
            except QueueUnavailable as error:
                self._log.error("the queue can't be used; trying again", extra={"error": str(error)})
                asyncio.get_running_loop().call_later(delay, self.wake)
                delay = min(delay * 2, _LAST_RETRY_SECONDS)

    async def interrupt(self, request_id: str, turn: RunningTurn) -> None:
        """Carry out a running interrupt on *turn*, at once, whoever holds the slot."""
        await self._settle(request_id, turn.interrupt())

    def finished(self, finished: Finished) -> None:
        """Tell the world how a request ended."""
        self._journal.add(
            finished.state,
            request_id=finished.request_id,
            error_detail=finished.error,
            result_json=finished.result,
        )
        self._log.info(f"request {finished.state}", extra={"request_id": finished.request_id})
        if finished.ends_as is not None:
            self._book.ledger.tell(finished.request_id, finished.ends_as)
        self._on_finish(finished)
        self._on_change()

    async def _step(self) -> bool:
        """Carry out the next request. False: there is none that may run now."""
        row = await self._next()
        if row is None:
            return False
        if row.kind != INTERRUPT:
            try:
                await self._adapter.wait_ready()
            except AgentGone:
                # Its return wakes us; an agent that only seemed gone has none.
                asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._wake_if_open)
                return False
        was_taken = True
        async with self._slot.work("a queued request"):
            # While we waited the agent may have been replaced, which closes the door for this row, or
            # another control intent may have come, which goes first or takes its place.
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

    async def _next(self) -> Row | None:
        """The next request that may run now. One that came too late for its instance is failed on the way."""
        while self._open_instance() is not None:
            row = await self._queue.next()
            instance = self._open_instance()  # asked again: it may be another by now
            if row is None or instance is None:
                return None
            reason = row.defect or _epoch_error(row, instance) or _defect_of(row)
            if reason is None:
                return row
            if (refused := await self._queue.refuse(row.request_id, reason)) is not None:
                self.finished(refused)
        return None

    def _turn_id(self, row: Row) -> str | None:
        """The turn that will carry out *row*, if it takes one: known before it begins, so that it can be
        found again when this process dies."""
        if row.kind == INTERRUPT or not self._adapter.is_headless:
            return None
        return row.payload.get("turn_id") or new_turn_id()

    async def _claim(self, row: Row, turn_id: str | None) -> bool:
        claim = await self._queue.claim(row.request_id, turn_id=turn_id)
        if claim.coalesced is not None:
            self._coalesced(claim.coalesced)
        if claim.is_taken:
            self._book.ledger.tell(row.request_id, "started")
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
            self._book.ledger.tell(request_id, "coalesced")
        self._log.info("control intents coalesced", extra={"count": len(coalesced.request_ids)})

    async def _carry_out(self, row: Row, turn_id: str | None, instance: Instance) -> bool:
        """Carry out a claimed row. False: the agent took nothing, and the row is back in line."""
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
            row.request_id, self._give(row.request_id, prompt), ends=self._adapter.is_headless
        )

    async def _interrupt_now(self) -> None:
        turn = await self._adapter.running_turn()
        if turn is not None:
            await turn.interrupt()

    async def _settle(self, request_id: str, action: Awaitable[object], *, ends: bool = True) -> bool:
        """Do *action* and write down how it ended, whatever happens. False: nothing happened at all.

        With *ends* the request is over with the action; a TUI's turn goes on.
        """
        try:
            await action
        except asyncio.CancelledError:
            result = Result(state="failed", error=STOPPED, turn_goes_on=True, ends_as="unknown")
            self._ended(await self._queue.finish(request_id, result))
            raise
        except AgentBusy as error:
            self._log.info(
                "request goes back in line", extra={"request_id": request_id, "reason": str(error)}
            )
            await self._surely(lambda: self._queue.release(request_id))
            return False
        except PosthouseError as error:
            result = self._failed(request_id, error)
        except Exception as error:  # noqa: BLE001 - the worker must outlive one bad request
            self._log.exception("request failed unexpectedly", extra={"request_id": request_id})
            reason = f"the gateway failed: {type(error).__name__}; its log has the details"
            result = self._failed(request_id, PromptFailed(reason))
        else:
            crashpoints.reach("request carried out")
            result = Result(state="completed", ends_as="completed" if ends else None)
        await _in_spite_of_a_stop(self._write_end(request_id, result))
        return True

    async def _write_end(self, request_id: str, result: Result) -> None:
        # What was told on the way goes before its end.
        await self._surely(self._book.ledger.flush)
        self._ended(await self._surely(lambda: self._queue.finish(request_id, result)))

    def _failed(self, request_id: str, error: PosthouseError) -> Result:
        is_uncertain = self._book.is_uncertain(request_id, error)
        return Result(state="failed", error=str(error), ends_as="unknown" if is_uncertain else "failed")

    def _ended(self, finished: Finished | None) -> None:
        if finished is not None:
            self.finished(finished)

    async def _surely(self, write: Callable[[], Awaitable[T]]) -> T:
        """Write until the disk takes it: what the agent did can't be done again to have another try."""
        delay = _RETRY_SECONDS
        while True:
            try:
                return await write()
            except QueueUnavailable as error:
                self._log.error("an outcome can't be written; trying again", extra={"error": str(error)})
            await asyncio.sleep(delay)
            delay = min(delay * 2, _LAST_RETRY_SECONDS)


def _epoch_error(row: Row, instance: Instance) -> str | None:
    """Why *row* is not for *instance*; None when it is."""
    if row.carrier == instance.epoch:
        return None
    # Another program wrote an epoch that is still to come: it would hold up everything behind it.
    return STRAY if row.carrier < instance.epoch else f"there is no agent instance of epoch {row.carrier} yet"


def _defect_of(row: Row) -> str | None:
    """Why *row*, which can be read, can't be carried out by anyone; None when it can."""
    if row.kind == INTERRUPT:
        return None
    if row.kind not in _PROMPT_KINDS:
        return f"unsupported request kind {row.kind!r}"
    try:
        text = Prompt.from_payload(row.payload).text
    except (AttributeError, KeyError, TypeError) as error:
        return f"payload_json is not a prompt's: {type(error).__name__}: {error}"
    return None if isinstance(text, str) else "payload_json is not a prompt's: the prompt is not a string"


async def _in_spite_of_a_stop(writing: Coroutine[None, None, None]) -> None:
    """Do *writing*; whoever is cancelled meanwhile is so after it: what is on disk is told too."""
    task = asyncio.ensure_future(writing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=_STOP_SECONDS)
        task.cancel()
        raise

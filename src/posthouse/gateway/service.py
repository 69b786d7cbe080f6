"""One gateway: what its routes call. It has its own queue, worker and adapter, and shares nothing."""

import asyncio
import logging
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from posthouse.contracts import gateway_files as gf
from posthouse.contracts.gateway_http import (
    AcceptedRequest,
    GatewayStatus,
    Health,
    InterruptRequest,
    ReconciliationRequest,
    ReconciliationResult,
    RequestKind,
    SubmitPromptRequest,
)
from posthouse.errors import Conflict, InvalidInput, Unavailable
from posthouse.gateway import reconciliation, recovery
from posthouse.gateway.adapter import AgentAdapter, Prompt
from posthouse.gateway.beginning import Beginning
from posthouse.gateway.control.keys import RawKeys
from posthouse.gateway.control.prompts import DirectControl
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.diagnostics import Diagnostics, NoDiagnostics
from posthouse.gateway.files import Journal, Publisher, read_events
from posthouse.gateway.reminders.board import Reminders
from posthouse.gateway.reminders.clock import ReminderClock
from posthouse.gateway.reminders.events import ReminderStory, left_by
from posthouse.gateway.retention import Pruner
from posthouse.gateway.slot import Slot
from posthouse.gateway.status import Binding, Facts, derive, epoch_of
from posthouse.gateway.surroundings import Surroundings
from posthouse.gateway.worker import Worker
from posthouse.queue import Accepted, Finished, Instance, Queue, Request
from posthouse.support import clock


class ReconciliationRequired(Conflict):
    """The agent was replaced and nobody decided yet what becomes of its work."""

    code = "blocked_reconciliation"


class AgentUnavailable(Unavailable):
    """The agent is not there to be asked."""

    code = "blocked_unavailable"


class InvalidExecution(InvalidInput):
    """A TUI can't change its model for one prompt."""

    code = "invalid_execution"


class Gateway:
    """The gateway of one session."""

    def __init__(
        self,
        *,
        attach: gf.Attach,
        binding: Binding,
        queue: Queue,
        adapter: AgentAdapter,
        journal: Journal,
        publisher: Publisher,
        log: logging.Logger,
        diagnostics: Diagnostics | None = None,
        timings: gf.TrackingTimings | None = None,
    ) -> None:
        self._attach = attach
        self._binding = binding
        self._queue = queue
        self._adapter = adapter
        self._journal = journal
        self._publisher = publisher
        self._log = log
        self.diagnostics: Diagnostics = diagnostics or NoDiagnostics()
        self._instance: Instance | None = None
        self._observing = asyncio.Lock()
        self._slot = Slot()
        self._worker = Worker(
            queue,
            adapter,
            journal,
            log,
            slot=self._slot,
            carry_out=self._give,
            open_instance=self._open_instance,
            on_change=self._changed,
            on_finish=self._request_finished,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._pruner = Pruner(queue, log, spawn=self._spawn)
        around = self._surroundings()
        self._story = ReminderStory(journal)
        self.tui = TuiControl(adapter, attach, timings or gf.TrackingTimings())
        self.control = DirectControl(around, self.tui)
        self.keys = RawKeys(around)
        self.reminders = Reminders(self._story, takes_keys=not adapter.is_headless)
        self._reminder_clock = ReminderClock(around, self.reminders, self._story)

    async def start(self) -> None:
        """Look at the agent, publish, and begin to work. What was accepted earlier is carried on."""
        recovery.report(self._queue.found, self._journal, self._log)
        await self._tell_lost_reminders()
        self._instance = await self._queue.latest_instance()
        await self._adapter.open(self._agent_changed)
        self.tui.seen()
        await self._observe()
        await self._wait_for_left_turns()
        self._publisher.publish(self.status())
        self._spawn(self._worker.run())
        self._spawn(self._reminder_clock.run())
        self._worker.wake()
        self._pruner.start()

    async def stop(self) -> None:
        """Stop working, say so in the files, close the queue. Accepted requests stay for the next start."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.reminders.lose()
        await self._adapter.close()
        await self._queue.close()
        self._publisher.retire(self._queue.counts.depth)
        self._journal.close()
        self.diagnostics.close()

    def health(self) -> Health:
        return Health()

    def status(self) -> GatewayStatus:
        """The status now. Touches no file and asks nobody."""
        return derive(
            Facts(
                attach=self._attach,
                binding=self._binding,
                standing=self._adapter.standing,
                instance=self._instance,
                counts=self._queue.counts,
                is_executing=self._slot.is_held or self.control.is_busy,
            )
        )

    async def submit(self, request: SubmitPromptRequest | InterruptRequest) -> AcceptedRequest:
        """Accept *request*. The answer means that it is on disk.

        Raises:
            ReconciliationRequired: The agent was replaced.
            AgentUnavailable: The agent is not there.
            InvalidExecution: It asks a TUI for another model.
            QueueUnavailable: The disk said no.
        """
        await self._admit()
        if isinstance(request, InterruptRequest):
            return await self._submit_interrupt(request)
        if request.payload.execution is not None and not self._adapter.is_headless:
            raise InvalidExecution("execution is for headless agents; this one is a TUI")
        accepted = await self._put(request, start=False)
        self._worker.wake()
        return accepted

    async def reconcile(self, request: ReconciliationRequest) -> ReconciliationResult:
        """Decide what the current agent gets of the work that waited for an earlier one.

        Raises:
            NothingToDecide: It is decided already.
            OtherEpoch: The decision is about another instance.
            QueueUnavailable: The disk said no; nothing is decided.
        """
        async with self._observing:
            reconciliation.check(request.managed_agent_instance_epoch, self._instance)
            decided = await self._queue.decide(request.decision)
            self._instance = decided.instance
        reconciliation.tell(decided, self._journal, self._log, finished=self._worker.finished)
        self._changed()
        self._worker.wake()
        return reconciliation.result_of(decided)

    async def _submit_interrupt(self, request: InterruptRequest) -> AcceptedRequest:
        """Accept an interrupt; it acts at once on the turn that runs now, and waits in line without one."""
        begun = Beginning(self._adapter, self._slot) if self._slot.work_number is not None else None
        turn = await self._adapter.running_turn() or begun
        accepted = await self._put(request, start=turn is not None)
        if turn is not None:
            self._spawn(self._worker.interrupt(accepted.request_id, turn))
        self._worker.wake()
        return accepted

    async def _put(self, request: SubmitPromptRequest | InterruptRequest, *, start: bool) -> AcceptedRequest:
        epoch = epoch_of(self._instance)
        payload = request.payload.model_dump(mode="json")
        accepted = await self._queue.put(
            Request(kind=request.kind, payload=payload, epoch=epoch), start=start
        )
        self._journal.add(
            "accepted",
            request_id=accepted.request_id,
            request_kind=request.kind,
            accepted_at_utc=accepted.accepted_at_utc,
        )
        self._changed()
        return _answer(request.kind, accepted, epoch)

    async def _admit(self) -> None:
        """Return when a request may be accepted now. An agent that came back unnoticed is noticed here."""
        if self.status().request_admission == "blocked_unavailable":
            await self._adapter.look()
        # An agent that was replaced a moment ago must not pass for the old one.
        await self._observe()
        admission = self.status().request_admission
        if admission == "blocked_reconciliation":
            raise ReconciliationRequired(
                "the agent behind this session was replaced; nobody has decided yet whether the new one "
                "gets its work"
            )
        if admission != "open":
            raise AgentUnavailable(f"the agent is not available: {self._adapter.standing.detail}")

    async def _observe(self) -> None:
        """Record which instance stands behind the session, if one does."""
        async with self._observing:
            standing = self._adapter.standing
            seen = None if self._instance is None else self._instance.instance_id
            if standing.instance_id in (None, seen):
                return
            self._instance, decided = await self._queue.observe(
                standing.instance_id, is_known=standing.is_known
            )
            self._log.info("agent instance observed", extra={"epoch": self._instance.epoch})
            if decided is not None:
                reconciliation.tell(decided, self._journal, self._log, finished=self._worker.finished)

    async def _wait_for_left_turns(self) -> None:
        """Take the slot for the turns that an earlier gateway left, before any request can."""
        if left := await self._queue.left_turns():
            self._spawn(
                recovery.wait_for_turns(
                    left,
                    slot=self._slot,
                    queue=self._queue,
                    adapter=self._adapter,
                    journal=self._journal,
                    log=self._log,
                )
            )

    def _request_finished(self, finished: Finished) -> None:
        self._pruner.one_finished()
        if finished.state == "failed":
            self.diagnostics.note(
                "warning", "gateway.request_failed", key="request failed", request_id=finished.request_id
            )

    def _surroundings(self) -> Surroundings:
        return Surroundings(
            attach=self._attach,
            adapter=self._adapter,
            queue=self._queue,
            slot=self._slot,
            journal=self._journal,
            log=self._log,
            status=self.status,
            admit=self._admit,
            changed=self._changed,
            spawn=self._spawn,
        )

    async def _give(self, prompt: Prompt) -> None:
        """Carry out a queued prompt; a TUI's is noted."""
        await self.tui.noting(prompt, lambda: self._adapter.carry_out(prompt))

    async def _tell_lost_reminders(self) -> None:
        """A gateway that was killed could not say which reminders ended with it."""
        if (manifest := self._attach.manifest_path) is None:
            return
        events = Path(manifest).parent / "gateway" / gf.EVENTS
        left = await asyncio.to_thread(lambda: left_by(read_events(events, mentioning='"reminder_')))
        self._story.lost(left, clock.now())

    def _agent_changed(self) -> None:
        self.tui.seen()
        self._spawn(self._follow_agent())

    async def _follow_agent(self) -> None:
        await self._observe()
        self._changed()
        self._worker.wake()

    def _open_instance(self) -> Instance | None:
        """The instance that may be given work; one that stands there but was not observed yet may not."""
        if self._instance is None or self._adapter.standing.instance_id != self._instance.instance_id:
            return None
        return self._instance if self.status().request_admission == "open" else None

    def _changed(self) -> None:
        self._publisher.changed(self.status())
        self.reminders.changed.set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("a task of the gateway failed", exc_info=error)


def _answer(kind: RequestKind, accepted: Accepted, epoch: int) -> AcceptedRequest:
    return AcceptedRequest(
        request_id=accepted.request_id,
        request_kind=kind,
        accepted_at_utc=accepted.accepted_at_utc,
        queue_depth=accepted.depth,
        managed_agent_instance_epoch=epoch,
    )

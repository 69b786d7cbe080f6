"""One gateway: the methods that its routes call. It shares no state with other gateways."""

import asyncio
import logging
from pathlib import Path

from posthouse.agent.adapter import AgentAdapter, Prompt
from posthouse.contracts import gateway_files as gf
from posthouse.contracts.gateway_http import (
    AcceptedRequest,
    GatewayStatus,
    Health,
    InterruptRequest,
    ReconciliationRequest,
    ReconciliationResult,
    SubmitPromptRequest,
)
from posthouse.events.journal import Journal, read_events
from posthouse.gateway import reconciliation, recovery
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control.answer_rules import DialogAutoResponder
from posthouse.gateway.control.keys import RawKeys
from posthouse.gateway.control.prompts import DirectControl
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.control.tui_dialogs import DialogAnswerer
from posthouse.gateway.control.tui_history import TuiEventWriter
from posthouse.gateway.control.tui_state_file import TuiStateFile
from posthouse.gateway.diagnostics import Diagnostics, NoDiagnostics
from posthouse.gateway.files import Publisher
from posthouse.gateway.instance_tracker import InstanceTracker
from posthouse.gateway.intake import Intake
from posthouse.gateway.mail.mailbox_pool import Opener
from posthouse.gateway.mail.service import MailService
from posthouse.gateway.notifications.dispatcher import NotificationContext
from posthouse.gateway.operations import GatewayProbes, Operations
from posthouse.gateway.receipts.idempotency import IdempotentReplies
from posthouse.gateway.receipts.service import ReceiptService
from posthouse.gateway.reminders.events import ReminderEvents, restore
from posthouse.gateway.reminders.scheduler import ReminderScheduler
from posthouse.gateway.reminders.service import ReminderService
from posthouse.gateway.retention import Pruner
from posthouse.gateway.slot import Slot
from posthouse.gateway.status import Binding, StatusFacts, derive, epoch_of
from posthouse.gateway.usage_limits import UsageLimits
from posthouse.gateway.worker import Worker
from posthouse.queue import EpochDecision, Finished, IdempotencyKey, Instance, Queue
from posthouse.support import clock
from posthouse.support.disk_check import DiskCheck
from posthouse.support.supervision import Supervisor


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
        open_mailbox: Opener,
        diagnostics: Diagnostics | None = None,
        timings: gf.TrackingTimings | None = None,
        notification_context: NotificationContext | None = None,
        background: Supervisor | None = None,
    ) -> None:
        self._attach = attach
        self._binding = binding
        self._queue = queue
        self._adapter = adapter
        self._journal = journal
        self._publisher = publisher
        self._log = log
        self.diagnostics: Diagnostics = diagnostics or NoDiagnostics()
        self._background = background or Supervisor(log)
        folder = _gateway_folder(attach)
        self._disk = None if folder is None else DiskCheck(folder)
        probes = GatewayProbes(
            status=self.status,
            tui_state=self._tui_state,
            hold_reason=lambda: self.limits.reason(),
            background=self._background,
            disk_problem=self._disk_problem,
        )
        self.operations = Operations(journal, log, probes, notification_context)
        self._derived: tuple[StatusFacts, GatewayStatus] | None = None
        self._slot = Slot()
        self.limits = UsageLimits(journal, on_end=self._limit_ended)
        self._instances = InstanceTracker(queue, adapter, log, on_decided=self._report_decision)
        self.receipts = ReceiptService(queue, adapter, journal, log, on_finished=self._request_cancelled)
        self.idempotency = IdempotentReplies(queue.receipts, log)
        self._worker = Worker(
            queue,
            adapter,
            journal,
            log,
            slot=self._slot,
            carry_out=self._carry_out,
            receipts=self.receipts,
            open_instance=self._open_instance,
            on_change=self._changed,
            on_finish=self._request_finished,
        )
        self._agent_has_changed = asyncio.Event()
        self._pruner = Pruner(queue, log, spawn=self._background.spawn)
        context = self._context()
        self._intake = Intake(context, self._worker)
        self._reminder_events = ReminderEvents(journal)
        self.tui = TuiControl(
            adapter, attach, timings or gf.TrackingTimings(), events=TuiEventWriter(journal)
        )
        self.control = DirectControl(context, self.tui)
        self.answers = DialogAnswerer(context, self.tui)
        self.answer_rules = DialogAutoResponder(context, self.answers, _session_folder(attach))
        self._tui_state_file = TuiStateFile(folder, log)
        for on_state in (self._tui_state_file.update, self.limits.observe, self.answer_rules.on_state):
            self.tui.subscribe(on_state)
        self.keys = RawKeys(context)
        self.reminders = ReminderService(self._reminder_events, takes_keys=not adapter.is_headless)
        self._reminder_scheduler = ReminderScheduler(context, self.reminders, self._reminder_events)
        self.mail = MailService(
            context,
            self.tui,
            binding=binding,
            open_mailbox=open_mailbox,
            diagnostics=self.diagnostics,
            wake_worker=self._worker.wake,
            on_poll=self._pruner.count_finished,
        )

    async def start(self) -> None:
        """Observe the agent, publish the status, start the worker, and resume accepted requests."""
        self.operations.start()
        recovery.report(self._queue.recovery, self._journal, self._log)
        await self._report_lost_reminders()
        await self._instances.load()
        await self._adapter.open(self._agent_changed)
        self.tui.observe()
        await self._instances.observe()
        await self.receipts.resume()
        await self._wait_for_left_turns()
        self._publisher.publish(self.status())
        self._background.supervise("agent observer", self._follow_agent)
        self._background.supervise("receipt ledger", self.receipts.ledger.run)
        self._background.supervise("receipt follower", self.receipts.follower.run)
        self._background.supervise("worker", self._worker.run)
        self._background.supervise("reminders", self._reminder_scheduler.run)
        self._background.supervise("mail notifier", self.mail.run)
        self._worker.wake()
        self._pruner.start()

    async def stop(self) -> None:
        """Stop the worker, publish that, and close the queue. Accepted requests stay for the next start."""
        await self._background.stop()
        await self.operations.stop()
        self.tui.close()
        self._tui_state_file.remove()
        self.limits.close()
        self.reminders.drop_all()
        await self.receipts.close()
        self.mail.close()
        await self._adapter.close()
        await self._queue.close()
        self._publisher.retire(self._queue.counts.depth)
        self._journal.close()
        self.diagnostics.close()

    def health(self) -> Health:
        return Health()

    def status(self) -> GatewayStatus:
        """The current status, without I/O; derived again only when a fact has changed."""
        facts = StatusFacts(
            attach=self._attach,
            binding=self._binding,
            agent=self._adapter.status,
            instance=self._instances.instance,
            counts=self._queue.counts,
            is_executing=self._slot.is_held or self.control.is_busy,
        )
        if self._derived is None or self._derived[0] != facts:
            self._derived = (facts, derive(facts))
        return self._derived[1]

    def _tui_state(self) -> str | None:
        return None if self._adapter.is_headless else self.tui.current.inferred.state

    async def submit(
        self, request: SubmitPromptRequest | InterruptRequest, *, key: IdempotencyKey | None = None
    ) -> AcceptedRequest:
        """Accept *request*, as `Intake.submit` does."""
        return await self._intake.submit(request, key)

    async def reconcile(self, request: ReconciliationRequest) -> ReconciliationResult:
        """Decide whether the current agent gets the work queued for an earlier one.

        Raises:
            Conflict, QueueUnavailable: As `InstanceTracker.decide`.
        """
        decided = await self._instances.decide(request.decision, epoch=request.managed_agent_instance_epoch)
        self._changed()
        self._worker.wake()
        return reconciliation.result_of(decided)

    def _report_decision(self, decided: EpochDecision) -> None:
        reconciliation.report(decided, self._journal, self._log, finished=self._worker.report_finished)

    async def _wait_for_left_turns(self) -> None:
        """Take the slot, before any request can, for turns of an earlier gateway that still run."""
        if left := await self._queue.unfinished_turns():
            self._background.spawn(
                recovery.wait_for_turns(
                    left,
                    slot=self._slot,
                    queue=self._queue,
                    adapter=self._adapter,
                    journal=self._journal,
                    log=self._log,
                    on_ended=self.receipts.ledger.record_end,
                )
            )

    def _request_finished(self, finished: Finished) -> None:
        self._pruner.count_finished()
        if finished.state == "failed":
            self.diagnostics.note(
                "warning", "gateway.request_failed", key="request failed", request_id=finished.request_id
            )

    def _context(self) -> GatewayContext:
        return GatewayContext(
            attach=self._attach,
            adapter=self._adapter,
            queue=self._queue,
            slot=self._slot,
            journal=self._journal,
            log=self._log,
            receipts=self.receipts,
            status=self.status,
            admit=self._instances.admit,
            hold_reason=self.limits.reason,
            notify_changed=self._changed,
            epoch=lambda: epoch_of(self._instances.instance),
            spawn=self._background.spawn,
        )

    async def _carry_out(self, request_id: str, prompt: Prompt) -> None:
        """Deliver a queued prompt; a TUI prompt is added to the TUI history."""
        on_progress = self.receipts.recorder(request_id, prompt.text)
        await self.tui.track_prompt(prompt, lambda: self._adapter.execute(prompt, on_progress=on_progress))

    def _request_cancelled(self, finished: Finished) -> None:
        self._worker.report_finished(finished)

    async def _report_lost_reminders(self) -> None:
        """Report reminders that were lost because the last gateway was killed."""
        if (manifest := self._attach.manifest_path) is None:
            return
        events = Path(manifest).parent / "gateway" / gf.EVENTS
        left = await asyncio.to_thread(lambda: restore(read_events(events, mentioning='"reminder_')))
        self._reminder_events.lost(left, clock.now())

    def _open_instance(self) -> Instance | None:
        """The instance that may receive queued work now; None while a usage limit lasts."""
        return None if self.limits.is_parked else self._instances.open_instance()

    def _limit_ended(self) -> None:
        self._changed()
        self._worker.wake()

    def _agent_changed(self) -> None:
        self.tui.observe()
        self.receipts.follower.schedule_read()
        self._agent_has_changed.set()

    async def _follow_agent(self) -> None:
        """Record the agent's instance whenever it changes, until cancelled."""
        self._agent_has_changed.set()  # an earlier run may have failed before it recorded the last change
        while True:
            await self._agent_has_changed.wait()
            self._agent_has_changed.clear()
            await self._instances.observe()
            self._changed()
            self._worker.wake()

    async def _disk_problem(self) -> str | None:
        """Why the disk can't be written; None when it can."""
        problem = await self._queue.problem()
        return problem if problem or self._disk is None else await self._disk.problem()

    def _changed(self) -> None:
        self._publisher.publish_soon(self.status)
        self.reminders.agent_changed()
        self.mail.agent_changed()


def _session_folder(attach: gf.Attach) -> Path | None:
    """The session folder, which outlives its gateways; None without a manifest path."""
    return None if attach.manifest_path is None else Path(attach.manifest_path).parent


def _gateway_folder(attach: gf.Attach) -> Path | None:
    folder = _session_folder(attach)
    return None if folder is None else folder / "gateway"

"""One gateway: what its routes call. It has its own queue, worker and adapter, and shares nothing."""

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
from posthouse.gateway.context import Surroundings
from posthouse.gateway.control.answer_rules import AnswerRules
from posthouse.gateway.control.keys import RawKeys
from posthouse.gateway.control.prompts import DirectControl
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.control.tui_dialogs import TuiAnswers
from posthouse.gateway.control.tui_history import TuiStory
from posthouse.gateway.control.tui_state_file import BeliefFile
from posthouse.gateway.diagnostics import Diagnostics, NoDiagnostics
from posthouse.gateway.files import Publisher
from posthouse.gateway.instance_tracker import Presence
from posthouse.gateway.intake import Intake
from posthouse.gateway.mail.mailbox_pool import Opener
from posthouse.gateway.mail.service import MailOffice
from posthouse.gateway.notifications.dispatcher import Surroundings as TellAs
from posthouse.gateway.operations import Operations, Sights
from posthouse.gateway.receipts.idempotency import Repeats
from posthouse.gateway.receipts.service import ReceiptBook
from posthouse.gateway.reminders.events import ReminderStory, left_by
from posthouse.gateway.reminders.scheduler import ReminderClock
from posthouse.gateway.reminders.service import Reminders
from posthouse.gateway.retention import Pruner
from posthouse.gateway.slot import Slot
from posthouse.gateway.status import Binding, Facts, derive, epoch_of
from posthouse.gateway.usage_limits import Limits
from posthouse.gateway.worker import Worker
from posthouse.queue import Decided, Finished, Instance, Key, Queue
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
        tell_as: TellAs | None = None,
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
        sights = Sights(
            status=self.status,
            tui_state=self._tui_state,
            held_by=lambda: self.limits.reason(),
            background=self._background,
            disk_problem=self._disk_problem,
        )
        self.operations = Operations(journal, log, sights, tell_as)
        self._derived: tuple[Facts, GatewayStatus] | None = None
        self._slot = Slot()
        self.limits = Limits(journal, on_over=self._limit_over)
        self._presence = Presence(queue, adapter, log, on_decided=self._decided)
        self.book = ReceiptBook(queue, adapter, journal, log, on_finished=self._taken_back)
        self.repeats = Repeats(queue.receipts, log)
        self._worker = Worker(
            queue,
            adapter,
            journal,
            log,
            slot=self._slot,
            carry_out=self._give,
            book=self.book,
            open_instance=self._open_instance,
            on_change=self._changed,
            on_finish=self._request_finished,
        )
        self._agent_has_changed = asyncio.Event()
        self._pruner = Pruner(queue, log, spawn=self._background.spawn)
        around = self._surroundings()
        self._intake = Intake(around, self._worker)
        self._story = ReminderStory(journal)
        self.tui = TuiControl(adapter, attach, timings or gf.TrackingTimings(), story=TuiStory(journal))
        self.control = DirectControl(around, self.tui)
        self.answers = TuiAnswers(around, self.tui)
        self.answer_rules = AnswerRules(around, self.answers, _session_folder(attach))
        self._belief_file = BeliefFile(folder, log)
        for believe in (self._belief_file.believe, self.limits.believe, self.answer_rules.believe):
            self.tui.listen(believe)
        self.keys = RawKeys(around)
        self.reminders = Reminders(self._story, takes_keys=not adapter.is_headless)
        self._reminder_clock = ReminderClock(around, self.reminders, self._story)
        self.mail = MailOffice(
            around,
            self.tui,
            binding=binding,
            open_mailbox=open_mailbox,
            diagnostics=self.diagnostics,
            wake_worker=self._worker.wake,
            on_poll=self._pruner.one_finished,
        )

    async def start(self) -> None:
        """Look at the agent, publish, and begin to work. What was accepted earlier is carried on."""
        self.operations.start()
        recovery.report(self._queue.found, self._journal, self._log)
        await self._tell_lost_reminders()
        await self._presence.begin()
        await self._adapter.open(self._agent_changed)
        self.tui.seen()
        await self._presence.observe()
        await self.book.begin()
        await self._wait_for_left_turns()
        self._publisher.publish(self.status())
        self._background.keep("agent observer", self._follow_agent)
        self._background.keep("receipt ledger", self.book.ledger.run)
        self._background.keep("receipt follower", self.book.follower.run)
        self._background.keep("worker", self._worker.run)
        self._background.keep("reminders", self._reminder_clock.run)
        self._background.keep("mail notifier", self.mail.run)
        self._worker.wake()
        self._pruner.start()

    async def stop(self) -> None:
        """Stop working, say so in the files, close the queue. Accepted requests stay for the next start."""
        await self._background.stop()
        await self.operations.stop()
        self.tui.close()
        self._belief_file.remove()
        self.limits.close()
        self.reminders.lose()
        await self.book.close()
        self.mail.close()
        await self._adapter.close()
        await self._queue.close()
        self._publisher.retire(self._queue.counts.depth)
        self._journal.close()
        self.diagnostics.close()

    def health(self) -> Health:
        return Health()

    def status(self) -> GatewayStatus:
        """The status now. Touches no file and asks nobody; derived anew only when a fact has changed."""
        facts = Facts(
            attach=self._attach,
            binding=self._binding,
            standing=self._adapter.standing,
            instance=self._presence.instance,
            counts=self._queue.counts,
            is_executing=self._slot.is_held or self.control.is_busy,
        )
        if self._derived is None or self._derived[0] != facts:
            self._derived = (facts, derive(facts))
        return self._derived[1]

    def _tui_state(self) -> str | None:
        return None if self._adapter.is_headless else self.tui.believed.verdict.state

    async def submit(
        self, request: SubmitPromptRequest | InterruptRequest, *, key: Key | None = None
    ) -> AcceptedRequest:
        """Accept *request*, as `Intake.submit` does."""
        return await self._intake.submit(request, key)

    async def reconcile(self, request: ReconciliationRequest) -> ReconciliationResult:
        """Decide what the current agent gets of the work that waited for an earlier one.

        Raises:
            NothingToDecide, OtherEpoch, QueueUnavailable: As `Presence.decide`.
        """
        decided = await self._presence.decide(request.decision, epoch=request.managed_agent_instance_epoch)
        self._changed()
        self._worker.wake()
        return reconciliation.result_of(decided)

    def _decided(self, decided: Decided) -> None:
        reconciliation.tell(decided, self._journal, self._log, finished=self._worker.finished)

    async def _wait_for_left_turns(self) -> None:
        """Take the slot for the turns that an earlier gateway left, before any request can."""
        if left := await self._queue.left_turns():
            self._background.spawn(
                recovery.wait_for_turns(
                    left,
                    slot=self._slot,
                    queue=self._queue,
                    adapter=self._adapter,
                    journal=self._journal,
                    log=self._log,
                    told=self.book.ledger.ended,
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
            book=self.book,
            status=self.status,
            admit=self._presence.admit,
            held_back=self.limits.reason,
            changed=self._changed,
            epoch=lambda: epoch_of(self._presence.instance),
            spawn=self._background.spawn,
        )

    async def _give(self, request_id: str, prompt: Prompt) -> None:
        """Carry out a queued prompt; a TUI's is noted."""
        tell = self.book.teller(request_id, prompt.text)
        await self.tui.noting(prompt, lambda: self._adapter.carry_out(prompt, tell=tell))

    def _taken_back(self, finished: Finished) -> None:
        self._worker.finished(finished)

    async def _tell_lost_reminders(self) -> None:
        """A gateway that was killed could not say which reminders ended with it."""
        if (manifest := self._attach.manifest_path) is None:
            return
        events = Path(manifest).parent / "gateway" / gf.EVENTS
        left = await asyncio.to_thread(lambda: left_by(read_events(events, mentioning='"reminder_')))
        self._story.lost(left, clock.now())

    def _open_instance(self) -> Instance | None:
        """The instance that may be given queued work now; none while a usage limit holds it."""
        return None if self.limits.is_parked else self._presence.open_instance()

    def _limit_over(self) -> None:
        self._changed()
        self._worker.wake()

    def _agent_changed(self) -> None:
        self.tui.seen()
        self.book.follower.look_soon()
        self._agent_has_changed.set()

    async def _follow_agent(self) -> None:
        """Record the agent's instance whenever it changes, until cancelled."""
        self._agent_has_changed.set()  # an earlier run may have died before it recorded the last change
        while True:
            await self._agent_has_changed.wait()
            self._agent_has_changed.clear()
            await self._presence.observe()
            self._changed()
            self._worker.wake()

    async def _disk_problem(self) -> str | None:
        """Why nothing can be accepted, as far as the disk goes."""
        problem = await self._queue.problem()
        return problem if problem or self._disk is None else await self._disk.problem()

    def _changed(self) -> None:
        self._publisher.changed(self.status)
        self.reminders.agent_changed()
        self.mail.agent_changed()


def _session_folder(attach: gf.Attach) -> Path | None:
    """Where the session keeps what outlives its gateways; None when nothing says."""
    return None if attach.manifest_path is None else Path(attach.manifest_path).parent


def _gateway_folder(attach: gf.Attach) -> Path | None:
    folder = _session_folder(attach)
    return None if folder is None else folder / "gateway"

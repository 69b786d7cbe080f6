"""Delivers the effective reminder when it is due and the agent is free."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from posthouse.agent.adapter import AgentBusy, Prompt
from posthouse.errors import PosthouseError
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.reminders.events import ReminderEvents
from posthouse.gateway.reminders.reminder import Reminder
from posthouse.gateway.reminders.service import ReminderService
from posthouse.queue import DirectPrompt
from posthouse.support import clock
from posthouse.terminal import keys
from posthouse.turns.runner import new_turn_id

#: Upper bound, so that a change of the system clock is noticed.
_LONGEST_SLEEP_SECONDS = 60.0
#: Fallback for changes of the agent that cause no wake-up.
_POLL_SECONDS = 1.0


class ReminderScheduler:
    """Waits for the effective reminder and delivers it."""

    def __init__(
        self,
        gateway: GatewayContext,
        reminders: ReminderService,
        events: ReminderEvents,
        *,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._gateway = gateway
        self._reminders = reminders
        self._events = events
        self._now = now
        #: Reminder id and reason of deferrals that were already written.
        self._deferred: set[tuple[str, str]] = set()
        #: The receipts of deliveries that have not ended, by reminder.
        self._receipts: dict[str, str] = {}

    async def run(self) -> None:
        """Deliver until cancelled."""
        while True:
            self._reminders.changed.clear()
            if not await self._step():
                await self._sleep()

    async def _step(self) -> bool:
        """Deliver the due reminder. False when none can be delivered now."""
        reminder = self._due()
        if reminder is None:
            return False
        if (busy := self._busy()) is not None:
            self._defer(reminder, busy)
            return False
        if reminder.prompt is not None and not await self._agent_ready(reminder):
            return False
        if self._due() is not reminder or self._busy() is not None:
            return True
        # The slot is free: no await since that check.
        async with self._gateway.slot.work("a reminder"):
            was_taken = await self._deliver(reminder)
        self._gateway.notify_changed()
        if not was_taken:
            await asyncio.sleep(_POLL_SECONDS)
        return True

    def _due(self) -> Reminder | None:
        first = self._reminders.effective()
        if first is None or first.paused or first.is_executing or first.due_at > self._now():
            return None
        return first

    def _busy(self) -> str | None:
        """Why no reminder can be delivered now; None when one can."""
        status = self._gateway.status()
        if status.request_admission != "open":
            return f"request admission is {status.request_admission}"
        if (reason := self._gateway.hold_reason()) is not None:
            return reason
        if status.active_execution != "idle":
            return "another request is executing"
        return "requests are queued" if status.queue_depth else None

    async def _agent_ready(self, reminder: Reminder) -> bool:
        """Wait until the agent is ready for a prompt. False when the reminders changed first."""
        if self._gateway.adapter.status.eligibility != "ready":
            self._defer(reminder, "the agent is not ready for a prompt")
        ready = asyncio.ensure_future(self._gateway.adapter.wait_ready())
        changed = asyncio.ensure_future(self._reminders.changed.wait())
        try:
            await asyncio.wait({ready, changed}, return_when=asyncio.FIRST_COMPLETED)
            return ready.done() and ready.exception() is None
        finally:
            for wait in (ready, changed):
                wait.cancel()
            await asyncio.gather(ready, changed, return_exceptions=True)

    def _defer(self, reminder: Reminder, detail: str) -> None:
        """Write a deferral event, once per reason."""
        if (reminder.reminder_id, detail) not in self._deferred:
            self._deferred.add((reminder.reminder_id, detail))
            self._events.deferred(reminder, detail)

    async def _deliver(self, reminder: Reminder) -> bool:
        """Deliver *reminder*. False when the agent was busy; it stays due."""
        at = self._now()
        self._reminders.keep(reminder.started(at))
        self._events.started(reminder, at)
        self._gateway.notify_changed()
        error: str | None = None
        try:
            await self._deliver_content(reminder)
        except AgentBusy as busy:
            self._return_to_due(reminder, str(busy))
            return False
        except PosthouseError as refusal:
            error = str(refusal)
        except Exception as fault:
            # One failed reminder must not stop the loop.
            self._gateway.log.exception("reminder failed", extra={"reminder_id": reminder.reminder_id})
            error = f"the gateway failed: {type(fault).__name__}; its log has the details"
        self._finish(reminder.reminder_id, error)
        return True

    async def _deliver_content(self, reminder: Reminder) -> None:
        if reminder.keys is not None:
            await self._gateway.adapter.send_keys(keys.parse(reminder.keys.typed))
        elif reminder.prompt is not None:
            await self._deliver_prompt(reminder, Prompt(text=reminder.prompt))

    async def _deliver_prompt(self, reminder: Reminder, prompt: Prompt) -> None:
        """Give the agent the reminder's prompt, tracked by a receipt."""
        receipts, adapter = self._gateway.receipts, self._gateway.adapter
        prompt = replace(prompt, turn_id=new_turn_id() if adapter.is_headless else None)
        request_id = await self._receipt_of(reminder, prompt)
        try:
            async with receipts.delivery(request_id, prompt) as on_progress:
                await adapter.execute(prompt, on_progress=on_progress)
        except AgentBusy:
            raise
        except BaseException as error:
            receipts.failed(request_id, error)
            raise

    async def _receipt_of(self, reminder: Reminder, prompt: Prompt) -> str:
        """The receipt id of this delivery; a retry keeps it."""
        if (known := self._receipts.get(reminder.reminder_id)) is not None:
            return known
        payload = {"prompt": prompt.text, "reminder_id": reminder.reminder_id}
        request = DirectPrompt(kind="reminder", payload=payload, epoch=self._gateway.epoch())
        self._receipts[reminder.reminder_id] = await self._gateway.receipts.accept(request)
        return self._receipts[reminder.reminder_id]

    def _return_to_due(self, reminder: Reminder, reason: str) -> None:
        now = self._reminders.find(reminder.reminder_id)
        if now is None or now.is_deleted:
            self._reminders.forget(reminder.reminder_id)
            if (request_id := self._receipts.pop(reminder.reminder_id, None)) is not None:
                self._gateway.receipts.ledger.record(request_id, "cancelled")
            return
        self._reminders.keep(now.deferred())
        self._defer(reminder, reason)

    def _finish(self, reminder_id: str, error: str | None) -> None:
        """Write the result of a delivery and schedule the next one, if any."""
        at = self._now()
        self._receipts.pop(reminder_id, None)
        now = self._reminders.find(reminder_id)
        left = None if now is None else now.finished(at)
        if left is None:
            self._reminders.forget(reminder_id)
        else:
            self._reminders.keep(left)
        self._deferred = {entry for entry in self._deferred if entry[0] != reminder_id}
        self._events.ended(reminder_id, left, at, error)

    async def _sleep(self) -> None:
        """Return on a change or when the next check is due."""
        first = self._reminders.effective()
        seconds: float | None = None
        if first is not None and not first.paused:
            until = (first.due_at - self._now()).total_seconds()
            seconds = min(until, _LONGEST_SLEEP_SECONDS) if until > 0 else _POLL_SECONDS
        try:
            async with asyncio.timeout(seconds):
                await self._reminders.changed.wait()
        except TimeoutError:
            return

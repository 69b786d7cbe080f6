"""Delivers reminders when they are due, the effective one only, and never into other work."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from posthouse.agent.adapter import AgentBusy, Prompt
from posthouse.errors import PosthouseError
from posthouse.gateway.context import Surroundings
from posthouse.gateway.reminders.events import ReminderStory
from posthouse.gateway.reminders.reminder import Reminder
from posthouse.gateway.reminders.service import Reminders
from posthouse.queue import PastQueue
from posthouse.support import clock
from posthouse.terminal import keys
from posthouse.turns.runner import new_turn_id

#: A clock that was set is noticed this soon.
_LONGEST_SLEEP_SECONDS = 60.0
#: Everything that frees the agent wakes us; this is for what we were not told.
_LOOK_AGAIN_SECONDS = 1.0


class ReminderClock:
    """Watches the effective reminder and delivers it."""

    def __init__(
        self,
        gateway: Surroundings,
        reminders: Reminders,
        story: ReminderStory,
        *,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._gateway = gateway
        self._reminders = reminders
        self._story = story
        self._now = now
        #: What the due reminder was already said to wait for.
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
        """Deliver what is due now. False: nothing could be."""
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
        # The slot is free, and between that look and this step nobody else ran.
        async with self._gateway.slot.work("a reminder"):
            was_taken = await self._deliver(reminder)
        self._gateway.changed()
        if not was_taken:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        return True

    def _due(self) -> Reminder | None:
        first = self._reminders.effective()
        if first is None or first.paused or first.is_executing or first.due_at > self._now():
            return None
        return first

    def _busy(self) -> str | None:
        """What keeps every reminder waiting; None when nothing does."""
        status = self._gateway.status()
        if status.request_admission != "open":
            return f"request admission is {status.request_admission}"
        if (reason := self._gateway.held_back()) is not None:
            return reason
        if status.active_execution != "idle":
            return "something else is being carried out"
        return "requests wait in the queue" if status.queue_depth else None

    async def _agent_ready(self, reminder: Reminder) -> bool:
        """Whether the agent would take a prompt; waits for it, but no longer than nothing else changes."""
        if self._gateway.adapter.standing.eligibility != "ready":
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
        """Say that *reminder* waits, once for each reason."""
        if (reminder.reminder_id, detail) not in self._deferred:
            self._deferred.add((reminder.reminder_id, detail))
            self._story.deferred(reminder, detail)

    async def _deliver(self, reminder: Reminder) -> bool:
        """Deliver *reminder*. False: the agent took nothing, and it stays due."""
        at = self._now()
        self._reminders.keep(reminder.started(at))
        self._story.started(reminder, at)
        self._gateway.changed()
        error: str | None = None
        try:
            await self._give(reminder)
        except AgentBusy as busy:
            self._put_off(reminder, str(busy))
            return False
        except PosthouseError as refusal:
            error = str(refusal)
        except Exception as fault:
            # The next reminder must not suffer from this one.
            self._gateway.log.exception("reminder failed", extra={"reminder_id": reminder.reminder_id})
            error = f"the gateway failed: {type(fault).__name__}; its log has the details"
        self._finish(reminder.reminder_id, error)
        return True

    async def _give(self, reminder: Reminder) -> None:
        if reminder.keys is not None:
            await self._gateway.adapter.press(keys.parse(reminder.keys.typed))
        elif reminder.prompt is not None:
            await self._give_prompt(reminder, Prompt(text=reminder.prompt))

    async def _give_prompt(self, reminder: Reminder, prompt: Prompt) -> None:
        """Give the agent the reminder's prompt, with a receipt that says what becomes of it."""
        book, adapter = self._gateway.book, self._gateway.adapter
        prompt = replace(prompt, turn_id=new_turn_id() if adapter.is_headless else None)
        request_id = await self._receipt_of(reminder, prompt)
        try:
            async with book.giving(request_id, prompt) as tell:
                await adapter.carry_out(prompt, tell=tell)
        except AgentBusy:
            raise
        except BaseException as error:
            book.failed(request_id, error)
            raise

    async def _receipt_of(self, reminder: Reminder, prompt: Prompt) -> str:
        """The receipt of this delivery; one that is tried again keeps it."""
        if (known := self._receipts.get(reminder.reminder_id)) is not None:
            return known
        payload = {"prompt": prompt.text, "reminder_id": reminder.reminder_id}
        past = PastQueue(kind="reminder", payload=payload, epoch=self._gateway.epoch())
        self._receipts[reminder.reminder_id] = await self._gateway.book.accept(past)
        return self._receipts[reminder.reminder_id]

    def _put_off(self, reminder: Reminder, reason: str) -> None:
        now = self._reminders.find(reminder.reminder_id)
        if now is None or now.is_deleted:
            self._reminders.forget(reminder.reminder_id)
            if (request_id := self._receipts.pop(reminder.reminder_id, None)) is not None:
                self._gateway.book.ledger.passed(request_id, "cancelled")
            return
        self._reminders.keep(now.put_off())
        self._defer(reminder, reason)

    def _finish(self, reminder_id: str, error: str | None) -> None:
        """Tell how a delivery ended, and plan the next, if the reminder still asks for one."""
        at = self._now()
        self._receipts.pop(reminder_id, None)
        now = self._reminders.find(reminder_id)
        left = None if now is None else now.finished(at)
        if left is None:
            self._reminders.forget(reminder_id)
        else:
            self._reminders.keep(left)
        self._deferred = {told for told in self._deferred if told[0] != reminder_id}
        self._story.ended(reminder_id, left, at, error)

    async def _sleep(self) -> None:
        """Return when something changed, or when it is time to look again."""
        first = self._reminders.effective()
        seconds: float | None = None
        if first is not None and not first.paused:
            until = (first.due_at - self._now()).total_seconds()
            seconds = min(until, _LONGEST_SLEEP_SECONDS) if until > 0 else _LOOK_AGAIN_SECONDS
        try:
            async with asyncio.timeout(seconds):
                await self._reminders.changed.wait()
        except TimeoutError:
            return

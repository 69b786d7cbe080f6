"""The reminders of one gateway: kept in memory, served over HTTP, delivered by `ReminderScheduler`."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from posthouse.agent.adapter import no_raw_input
from posthouse.contracts import gateway_reminders_http as wire
from posthouse.errors import Conflict, NotFound
from posthouse.gateway.reminders.events import ReminderEvents
from posthouse.gateway.reminders.reminder import KeyInput, Reminder, effective, order
from posthouse.support import clock, ids
from posthouse.terminal import keys

MAX_REMINDERS = 1000
_TICK = timedelta(microseconds=1)


class ReminderService:
    """Keeps the reminders in memory; they are lost when the gateway ends."""

    def __init__(
        self, events: ReminderEvents, *, takes_keys: bool, now: Callable[[], datetime] = clock.now
    ) -> None:
        self._events = events
        self._takes_keys = takes_keys
        self._now = now
        self._reminders: dict[str, Reminder] = {}
        self._newest = datetime.min.replace(tzinfo=now().tzinfo)
        #: Set on every change; the scheduler clears it.
        self.changed = asyncio.Event()

    def create(self, order: wire.CreateReminders) -> wire.Reminders:
        """Create all reminders, or none.

        Raises:
            InvalidInput: One has keys, and the agent accepts none (`no_raw_input`).
            InvalidInput: `unknown_key`: One names an unknown key.
            Conflict: The limit is exceeded (`too_many_reminders`).
        """
        for definition in order.reminders:
            self._check(definition)
        if len(self._reminders) + len(order.reminders) > MAX_REMINDERS:
            raise Conflict(
                f"at most {MAX_REMINDERS} reminders are kept; delete some first", code="too_many_reminders"
            )
        made = [self._made(definition) for definition in order.reminders]
        for reminder in made:
            self.keep(reminder)
            self._events.registered(reminder)
        return self._answer(made)

    def list_all(self) -> wire.Reminders:
        return self._answer(sorted(self._reminders.values(), key=order))

    def get(self, reminder_id: str) -> wire.Reminder:
        """One reminder.

        Raises:
            NotFound: It does not exist (`reminder_not_found`).
        """
        return self._shown(self._find(reminder_id))

    def put(self, reminder_id: str, definition: wire.PutReminder) -> wire.Reminder:
        """Replace its definition; the schedule restarts now, the creation time stays.

        Raises:
            NotFound: It does not exist (`reminder_not_found`).
            Conflict: It is being delivered (`reminder_executing`).
            InvalidInput: As `create`.
        """
        old = self._find(reminder_id)
        if old.is_executing:
            raise Conflict(
                f"reminder {reminder_id} is being delivered; change it when that is over",
                code="reminder_executing",
            )
        self._check(definition)
        made = _defined(definition, reminder_id, created_at=old.created_at, now=self._now())
        self.keep(made)
        self._events.updated(made)
        return self._shown(made)

    def delete(self, reminder_id: str) -> wire.ReminderDeleted:
        """Delete it. A delivery in progress is completed but not repeated.

        Raises:
            NotFound: It does not exist (`reminder_not_found`).
        """
        reminder = self._find(reminder_id)
        if reminder.is_executing:
            detail = "Its delivery goes on; it will not be repeated."
            self.keep(replace(reminder, is_deleted=True))
        else:
            detail = "Deleted before it was delivered."
            self.forget(reminder_id)
        self._events.deleted(reminder, detail)
        return wire.ReminderDeleted(reminder_id=reminder_id, detail=detail)

    def effective(self) -> Reminder | None:
        """The reminder that is delivered next, once it is due."""
        return effective(self._reminders.values())

    def find(self, reminder_id: str) -> Reminder | None:
        return self._reminders.get(reminder_id)

    def keep(self, reminder: Reminder) -> None:
        self._reminders[reminder.reminder_id] = reminder
        self.changed.set()

    def forget(self, reminder_id: str) -> None:
        self._reminders.pop(reminder_id, None)
        self.changed.set()

    def agent_changed(self) -> None:
        """Signal that the agent may be free for a waiting reminder."""
        if self._reminders:
            self.changed.set()

    def drop_all(self) -> None:
        """Write that all reminders are lost with this gateway, and drop them."""
        self._events.lost(self._reminders.values(), self._now())
        self._reminders.clear()

    def _find(self, reminder_id: str) -> Reminder:
        if (reminder := self._reminders.get(reminder_id)) is None:
            raise NotFound(
                f"there is no reminder {reminder_id!r}; it was delivered, deleted or never created",
                code="reminder_not_found",
            )
        return reminder

    def _check(self, definition: wire.ReminderDefinition) -> None:
        if definition.send_keys is None:
            return
        if not self._takes_keys:
            raise no_raw_input()
        keys.parse(definition.send_keys.sequence)

    def _made(self, definition: wire.ReminderDefinition) -> Reminder:
        now = self._now()
        # Unique times keep the order of a batch, even if the clock does not advance.
        self._newest = max(now, self._newest + _TICK)
        return _defined(definition, f"greminder-{ids.hex_id(12)}", created_at=self._newest, now=now)

    def _answer(self, reminders: list[Reminder]) -> wire.Reminders:
        first = self.effective()
        return wire.Reminders(
            effective_reminder_id=None if first is None else first.reminder_id,
            reminders=[self._shown(reminder) for reminder in reminders],
        )

    def _shown(self, reminder: Reminder) -> wire.Reminder:
        first = self.effective()
        is_first = first is None or first.reminder_id == reminder.reminder_id
        started = reminder.last_started_at
        return wire.Reminder(
            reminder_id=reminder.reminder_id,
            mode=reminder.mode,
            delivery_kind=reminder.delivery_kind,
            title=reminder.title,
            prompt=reminder.prompt,
            send_keys=_wire_keys(reminder.keys),
            ranking=reminder.ranking,
            paused=reminder.paused,
            selection_state="effective" if is_first else "blocked",
            delivery_state=reminder.delivery_state(self._now()),
            created_at_utc=clock.iso_micros(reminder.created_at),
            next_due_at_utc=clock.iso_micros(reminder.due_at),
            interval_seconds=None if reminder.interval is None else reminder.interval.total_seconds(),
            last_started_at_utc=None if started is None else clock.iso_micros(started),
            blocked_by_reminder_id=None if first is None or is_first else first.reminder_id,
        )


def _wire_keys(given: KeyInput | None) -> wire.ReminderKeys | None:
    if given is None:
        return None
    return wire.ReminderKeys(sequence=given.sequence, ensure_enter=given.ensure_enter)


def _defined(
    definition: wire.ReminderDefinition, reminder_id: str, *, created_at: datetime, now: datetime
) -> Reminder:
    if definition.deliver_at_utc is not None:
        due_at = clock.parse(definition.deliver_at_utc)
    else:
        due_at = now + timedelta(seconds=definition.start_after_seconds or 0)
    asked = definition.send_keys
    interval = definition.interval_seconds
    return Reminder(
        reminder_id=reminder_id,
        mode=definition.mode,
        title=definition.title,
        prompt=definition.prompt,
        keys=None if asked is None else KeyInput(sequence=asked.sequence, ensure_enter=asked.ensure_enter),
        ranking=definition.ranking,
        paused=definition.paused,
        created_at=created_at,
        anchor=due_at,
        due_at=due_at,
        interval=None if interval is None else timedelta(seconds=interval),
    )

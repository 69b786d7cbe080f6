"""The reminders of one gateway: kept in memory, asked about over HTTP, delivered by `ReminderClock`."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from posthouse.agent.adapter import NoRawInput
from posthouse.contracts import gateway_reminders_http as wire
from posthouse.errors import Conflict, NotFound
from posthouse.gateway.reminders.events import ReminderStory
from posthouse.gateway.reminders.reminder import Keys, Reminder, effective, order
from posthouse.support import clock, ids
from posthouse.terminal import keys

MAX_REMINDERS = 1000
_TICK = timedelta(microseconds=1)


class ReminderNotFound(NotFound):
    """There is no such reminder."""

    code = "reminder_not_found"

    def __init__(self, reminder_id: str) -> None:
        super().__init__(f"there is no reminder {reminder_id!r}; it was delivered, deleted or never made")


class ReminderExecuting(Conflict):
    """It is being delivered right now; nothing was changed."""

    code = "reminder_executing"

    def __init__(self, reminder_id: str) -> None:
        super().__init__(f"reminder {reminder_id} is being delivered; change it when that is over")


class TooManyReminders(Conflict):
    """More are not kept; none of the batch was."""

    code = "too_many_reminders"

    def __init__(self) -> None:
        super().__init__(f"at most {MAX_REMINDERS} reminders are kept; delete some first")


class Reminders:
    """What there is to be delivered. Lost with its gateway."""

    def __init__(
        self, story: ReminderStory, *, takes_keys: bool, now: Callable[[], datetime] = clock.now
    ) -> None:
        self._story = story
        self._takes_keys = takes_keys
        self._now = now
        self._known: dict[str, Reminder] = {}
        self._newest = datetime.min.replace(tzinfo=now().tzinfo)
        #: Set whenever something changed; whoever delivers clears it.
        self.changed = asyncio.Event()

    def create(self, order: wire.CreateReminders) -> wire.Reminders:
        """Keep them all, or none.

        Raises:
            NoRawInput: One is of keys, and the agent takes none.
            UnknownKey: One names a key that there is not.
            TooManyReminders: There is no room.
        """
        for definition in order.reminders:
            self._check(definition)
        if len(self._known) + len(order.reminders) > MAX_REMINDERS:
            raise TooManyReminders
        made = [self._made(definition) for definition in order.reminders]
        for reminder in made:
            self.keep(reminder)
            self._story.registered(reminder)
        return self._answer(made)

    def listing(self) -> wire.Reminders:
        return self._answer(sorted(self._known.values(), key=order))

    def get(self, reminder_id: str) -> wire.Reminder:
        """One of them.

        Raises:
            ReminderNotFound: There is none.
        """
        return self._shown(self._find(reminder_id))

    def put(self, reminder_id: str, definition: wire.PutReminder) -> wire.Reminder:
        """Give it a whole new definition; its time counts from now, its age stays.

        Raises:
            ReminderNotFound: There is none.
            ReminderExecuting: It is being delivered.
            NoRawInput, UnknownKey: As `create`.
        """
        old = self._find(reminder_id)
        if old.is_executing:
            raise ReminderExecuting(reminder_id)
        self._check(definition)
        made = _defined(definition, reminder_id, created_at=old.created_at, now=self._now())
        self.keep(made)
        self._story.updated(made)
        return self._shown(made)

    def delete(self, reminder_id: str) -> wire.ReminderDeleted:
        """Forget it. What is being delivered goes on to its end, and never again.

        Raises:
            ReminderNotFound: There is none.
        """
        reminder = self._find(reminder_id)
        if reminder.is_executing:
            detail = "Its delivery goes on; it will not be repeated."
            self.keep(replace(reminder, is_deleted=True))
        else:
            detail = "Deleted before it was delivered."
            self.forget(reminder_id)
        self._story.deleted(reminder, detail)
        return wire.ReminderDeleted(reminder_id=reminder_id, detail=detail)

    def effective(self) -> Reminder | None:
        """The one that is delivered next, when it is due."""
        return effective(self._known.values())

    def find(self, reminder_id: str) -> Reminder | None:
        return self._known.get(reminder_id)

    def keep(self, reminder: Reminder) -> None:
        self._known[reminder.reminder_id] = reminder
        self.changed.set()

    def forget(self, reminder_id: str) -> None:
        self._known.pop(reminder_id, None)
        self.changed.set()

    def agent_changed(self) -> None:
        """The agent may have become free for what waits."""
        if self._known:
            self.changed.set()

    def lose(self) -> None:
        """Tell of each that it ends with this gateway."""
        self._story.lost(self._known.values(), self._now())
        self._known.clear()

    def _find(self, reminder_id: str) -> Reminder:
        if (reminder := self._known.get(reminder_id)) is None:
            raise ReminderNotFound(reminder_id)
        return reminder

    def _check(self, definition: wire.ReminderDefinition) -> None:
        if definition.send_keys is None:
            return
        if not self._takes_keys:
            raise NoRawInput
        keys.parse(definition.send_keys.sequence)

    def _made(self, definition: wire.ReminderDefinition) -> Reminder:
        now = self._now()
        # Reminders of one batch keep their order, even where the clock stands still.
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


def _wire_keys(given: Keys | None) -> wire.ReminderKeys | None:
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
        keys=None if asked is None else Keys(sequence=asked.sequence, ensure_enter=asked.ensure_enter),
        ranking=definition.ranking,
        paused=definition.paused,
        created_at=created_at,
        anchor=due_at,
        due_at=due_at,
        interval=None if interval is None else timedelta(seconds=interval),
    )

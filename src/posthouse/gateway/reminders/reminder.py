"""One reminder, the order of several, and the next due time. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from posthouse.support import clock

Mode = Literal["one_off", "repeat"]
DeliveryKind = Literal["prompt", "send_keys"]
DeliveryState = Literal["scheduled", "overdue", "executing"]

_ENTER = "<[Enter]>"
_TRAILING_ENTERS = re.compile(r"(?:<\[Enter\]>)+\Z")
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyInput:
    """Raw keys to type."""

    sequence: str
    ensure_enter: bool

    @property
    def typed(self) -> str:
        """The sequence to type: with `ensure_enter`, exactly one Enter at the end."""
        if not self.ensure_enter:
            return self.sequence
        return _TRAILING_ENTERS.sub("", self.sequence) + _ENTER


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """Content for the agent and its schedule."""

    reminder_id: str
    mode: Mode
    title: str
    #: Exactly one of prompt and keys is set.
    prompt: str | None
    keys: KeyInput | None
    ranking: int
    paused: bool
    created_at: datetime
    #: First due time; repetitions keep its cadence.
    anchor: datetime
    due_at: datetime
    interval: timedelta | None
    last_started_at: datetime | None = None
    is_executing: bool = False
    #: Deleted during its delivery, so not repeated.
    is_deleted: bool = False

    @property
    def delivery_kind(self) -> DeliveryKind:
        return "prompt" if self.keys is None else "send_keys"

    def delivery_state(self, at: datetime) -> DeliveryState:
        if self.is_executing:
            return "executing"
        return "overdue" if self.due_at <= at else "scheduled"

    def started(self, at: datetime) -> "Reminder":
        return replace(self, is_executing=True, last_started_at=at)

    def deferred(self) -> "Reminder":
        """Not delivered; it stays due."""
        return replace(self, is_executing=False)

    def finished(self, at: datetime) -> "Reminder | None":
        """The reminder with its next due time after a delivery; None after the last one."""
        if self.interval is None or self.is_deleted:
            return None
        return replace(self, is_executing=False, due_at=next_due(self.anchor, self.interval, after=at))


def effective(reminders: Iterable[Reminder]) -> Reminder | None:
    """The only one eligible for delivery: smallest ranking, then oldest, even if paused or not yet due."""
    return min(reminders, key=order, default=None)


def order(reminder: Reminder) -> tuple[int, datetime, str]:
    return reminder.ranking, reminder.created_at, reminder.reminder_id


def next_due(anchor: datetime, interval: timedelta, *, after: datetime) -> datetime:
    """The first time of the cadence later than *after*. Missed deliveries are skipped."""
    steps = max((after - anchor) // max(interval, _TICK) + 1, 1)
    return anchor + steps * max(interval, _TICK)


def event_fields(reminder: Reminder) -> Mapping[str, object]:
    """Event fields of a reminder, without its content."""
    return {
        "reminder_id": reminder.reminder_id,
        "mode": reminder.mode,
        "delivery_kind": reminder.delivery_kind,
        "title": reminder.title,
        "ranking": reminder.ranking,
        "paused": reminder.paused,
        "prompt_preview": None,
        "sequence_preview": None,
        "ensure_enter": None if reminder.keys is None else reminder.keys.ensure_enter,
        "next_due_at_utc": clock.iso_micros(reminder.due_at),
        "interval_seconds": None if reminder.interval is None else reminder.interval.total_seconds(),
    }

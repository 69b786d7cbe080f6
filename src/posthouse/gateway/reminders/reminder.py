"""One reminder, which of several comes first, and when it is due again. Pure."""

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
class Keys:
    """Raw keys to type."""

    sequence: str
    ensure_enter: bool

    @property
    def typed(self) -> str:
        """What is really typed: with `ensure_enter`, exactly one Enter at the end."""
        if not self.ensure_enter:
            return self.sequence
        return _TRAILING_ENTERS.sub("", self.sequence) + _ENTER


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """What to give the agent, and when."""

    reminder_id: str
    mode: Mode
    title: str
    #: A prompt or keys, never both.
    prompt: str | None
    keys: Keys | None
    ranking: int
    paused: bool
    created_at: datetime
    #: The first time it was due; a repeating one keeps to it.
    anchor: datetime
    due_at: datetime
    interval: timedelta | None
    last_started_at: datetime | None = None
    is_executing: bool = False
    #: It is being delivered, and for the last time.
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

    def put_off(self) -> "Reminder":
        """Not delivered after all; it stays due."""
        return replace(self, is_executing=False)

    def finished(self, at: datetime) -> "Reminder | None":
        """What remains of it after a delivery; None when that was the last."""
        if self.interval is None or self.is_deleted:
            return None
        return replace(self, is_executing=False, due_at=next_due(self.anchor, self.interval, after=at))


def effective(reminders: Iterable[Reminder]) -> Reminder | None:
    """The only one that can be delivered: smallest ranking, then oldest, due or not, paused or not."""
    return min(reminders, key=order, default=None)


def order(reminder: Reminder) -> tuple[int, datetime, str]:
    return reminder.ranking, reminder.created_at, reminder.reminder_id


def next_due(anchor: datetime, interval: timedelta, *, after: datetime) -> datetime:
    """The first time of the cadence behind *after*. What was missed is not made up for."""
    steps = max((after - anchor) // max(interval, _TICK) + 1, 1)
    return anchor + steps * max(interval, _TICK)


def described(reminder: Reminder) -> Mapping[str, object]:
    """What events tell of a reminder. Never what it delivers."""
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

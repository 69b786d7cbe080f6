"""Reminder events in `events.jsonl`: written as they happen, and read back after a crash."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from posthouse.events.journal import Journal
from posthouse.gateway.reminders.reminder import KeyInput, Reminder, effective, event_fields
from posthouse.support import clock

LOST = "reminder_lost_on_restart"


class ReminderEvents:
    """Writes reminder events."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def registered(self, reminder: Reminder) -> None:
        created = clock.iso_micros(reminder.created_at)
        self._journal.add("reminder_registered", **event_fields(reminder), created_at_utc=created)

    def updated(self, reminder: Reminder) -> None:
        self._journal.add("reminder_updated", **event_fields(reminder))

    def deleted(self, reminder: Reminder, detail: str) -> None:
        self._journal.add(
            "reminder_deleted",
            reminder_id=reminder.reminder_id,
            executing=reminder.is_executing,
            delete_requested=True,
            detail=detail,
        )

    def started(self, reminder: Reminder, at: datetime) -> None:
        names = (
            "reminder_id",
            "mode",
            "delivery_kind",
            "ranking",
            "paused",
            "sequence_preview",
            "ensure_enter",
        )
        self._journal.add(
            "reminder_started",
            **_pick(event_fields(reminder), *names),
            started_at_utc=clock.iso_micros(at),
            delete_requested=reminder.is_deleted,
        )

    def deferred(self, reminder: Reminder, detail: str) -> None:
        names = ("reminder_id", "mode", "delivery_kind", "ranking", "next_due_at_utc")
        self._journal.add("reminder_deferred", **_pick(event_fields(reminder), *names), detail=detail)

    def ended(self, reminder_id: str, left: Reminder | None, at: datetime, error: str | None) -> None:
        """One delivery ended; *left* is the reminder with its next due time, or None."""
        fields: dict[str, object] = {
            "reminder_id": reminder_id,
            "finished_at_utc": clock.iso_micros(at),
            "next_due_at_utc": None if left is None else clock.iso_micros(left.due_at),
        }
        if error is None:
            self._journal.add("reminder_completed", **fields)
        else:
            self._journal.add("reminder_failed", **fields, error_detail=error)

    def lost(self, reminders: Iterable[Reminder], at: datetime) -> None:
        """Write that *reminders* are lost with this gateway."""
        known = list(reminders)
        first = effective(known)
        for reminder in known:
            names = ("reminder_id", "mode", "delivery_kind", "ranking", "paused", "next_due_at_utc")
            self._journal.add(
                LOST,
                **_pick(event_fields(reminder), *names),
                selection_state="effective" if reminder is first else "blocked",
                delivery_state=reminder.delivery_state(at),
            )


def restore(events: Iterable[Mapping[str, Any]]) -> list[Reminder]:
    """Rebuild a killed gateway's reminders from *events*, without their content."""
    known: dict[str, dict[str, Any]] = {}
    for event in events:
        if str(event.get("kind", "")).startswith("reminder_"):
            _apply(known, event)
    found = (_reminder(fields) for fields in known.values())
    return [reminder for reminder in found if reminder is not None]


def _apply(known: dict[str, dict[str, Any]], event: Mapping[str, Any]) -> None:
    reminder_id = str(event.get("reminder_id"))
    match event["kind"]:
        case "reminder_registered":
            known[reminder_id] = dict(event)
        case "reminder_updated" if reminder_id in known:
            known[reminder_id] |= event
        case "reminder_started" if reminder_id in known:
            known[reminder_id]["is_executing"] = True
        case "reminder_completed" | "reminder_failed" if event.get("next_due_at_utc") is not None:
            known.get(reminder_id, {}).update(next_due_at_utc=event["next_due_at_utc"], is_executing=False)
        case "reminder_completed" | "reminder_failed" | "reminder_deleted" | "reminder_lost_on_restart":
            known.pop(reminder_id, None)


def _reminder(fields: Mapping[str, Any]) -> Reminder | None:
    """The reminder in *fields*; None when they are malformed."""
    try:
        due_at = clock.parse(fields["next_due_at_utc"])
        is_prompt = fields["delivery_kind"] == "prompt"
        return Reminder(
            reminder_id=fields["reminder_id"],
            mode=fields["mode"],
            title=fields["title"],
            prompt="" if is_prompt else None,
            keys=None if is_prompt else KeyInput(sequence="", ensure_enter=False),
            ranking=fields["ranking"],
            paused=fields["paused"],
            created_at=clock.parse(fields["created_at_utc"]),
            anchor=due_at,
            due_at=due_at,
            interval=None,
            is_executing=bool(fields.get("is_executing")),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _pick(fields: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: fields[name] for name in names}

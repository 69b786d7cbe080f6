"""The rules of reminders, and their story read after a kill."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from posthouse.events.journal import Journal, read_events
from posthouse.gateway.reminders.events import ReminderEvents, restore
from posthouse.gateway.reminders.reminder import KeyInput, Reminder, effective, next_due

START = datetime(2026, 6, 5, tzinfo=UTC)


def reminder(name: str = "a", **fields: Any) -> Reminder:
    given: dict[str, Any] = {
        "reminder_id": f"greminder-{name}",
        "mode": "one_off",
        "title": name,
        "prompt": "x",
        "keys": None,
        "ranking": 0,
        "paused": False,
        "created_at": START,
        "anchor": START,
        "due_at": START,
        "interval": None,
        **fields,
    }
    return Reminder(**given)


DUE: dict[str, tuple[float, float, float]] = {
    "in time": (10, 1, 10),
    "exactly at the next time": (10, 10, 20),
    "three were missed": (10, 35, 40),
    "before its first time": (10, -5, 10),
    "an interval below the clock's": (1e-9, 5, 5.000001),
}


@pytest.mark.parametrize(("interval", "finished", "due"), DUE.values(), ids=DUE.keys())
def test_the_cadence_keeps_to_its_anchor(interval: float, finished: float, due: float) -> None:
    """What was missed is left out, and the next is strictly later."""
    found = next_due(START, timedelta(seconds=interval), after=START + timedelta(seconds=finished))

    assert found == START + timedelta(seconds=due)


SEQUENCES = {
    "none": (KeyInput(sequence="x", ensure_enter=True), "x<[Enter]>"),
    "one": (KeyInput(sequence="x<[Enter]>", ensure_enter=True), "x<[Enter]>"),
    "several": (KeyInput(sequence="x<[Enter]><[Enter]>", ensure_enter=True), "x<[Enter]>"),
    "one inside": (KeyInput(sequence="a<[Enter]>b", ensure_enter=True), "a<[Enter]>b<[Enter]>"),
    "as it is": (KeyInput(sequence="x<[Enter]><[Enter]>", ensure_enter=False), "x<[Enter]><[Enter]>"),
}


@pytest.mark.parametrize(("keys", "typed"), SEQUENCES.values(), ids=SEQUENCES.keys())
def test_enter_at_the_end(keys: KeyInput, typed: str) -> None:
    """Exactly one, if it is asked for."""
    assert keys.typed == typed


def test_who_comes_first() -> None:
    """Ranking, then age, then id; nobody among none."""
    second = START + timedelta(seconds=1)
    known = [
        reminder("d", ranking=1),
        reminder("c", created_at=second),
        reminder("b"),
        reminder("a"),
    ]

    assert effective(known) == reminder("a")
    assert effective(known[:3]) == reminder("b")
    assert effective(known[:2]) == known[1]
    assert effective([]) is None


def test_a_finished_one_off_is_over_and_a_deleted_repeat_too() -> None:
    """Only a repeating one that somebody still wants remains."""
    repeat = reminder(mode="repeat", interval=timedelta(seconds=10)).started(START)

    assert reminder().started(START).finished(START) is None
    assert reminder(interval=timedelta(seconds=10), is_deleted=True).finished(START) is None
    left = repeat.finished(START + timedelta(seconds=25))
    assert left is not None
    assert (left.is_executing, left.due_at, left.anchor) == (False, START + timedelta(seconds=30), START)


def test_what_a_killed_gateway_had_is_read_from_its_story(tmp_path: Path) -> None:
    """Delivered and deleted ones are not lost; what was changed is told as changed."""
    journal = Journal(tmp_path / "events.jsonl")
    story = ReminderEvents(journal)
    names = ("waits", "changed", "runs", "repeats", "done", "failed", "deleted", "lost")
    known = {name: reminder(name, created_at=START + timedelta(seconds=n)) for n, name in enumerate(names)}
    for one in known.values():
        story.registered(one)
    later = START + timedelta(seconds=60)
    story.updated(reminder("changed", ranking=-3, paused=True, due_at=later))
    for name in ("runs", "repeats", "done", "failed"):
        story.started(known[name], START)
    story.ended("greminder-repeats", reminder("repeats", due_at=later), START, None)
    story.ended("greminder-done", None, START, None)
    story.ended("greminder-failed", None, START, "why")
    story.deleted(known["deleted"], "gone")
    story.lost([known["lost"]], START)
    journal.add("reminder_registered", reminder_id="broken")
    journal.close()
    with (tmp_path / "events.jsonl").open("a") as torn:
        torn.write('{"kind": "reminder_deleted", "reminder_id": "greminder-waits"')

    left = restore(read_events(tmp_path / "events.jsonl"))

    shown = [(one.title, one.ranking, one.paused, one.delivery_state(START), one.due_at) for one in left]
    assert shown == [
        ("waits", 0, False, "overdue", START),
        ("changed", -3, True, "scheduled", later),
        ("runs", 0, False, "executing", START),
        ("repeats", 0, False, "scheduled", later),
    ]


def test_keys_are_told_as_keys_after_a_kill(tmp_path: Path) -> None:
    """The kind of delivery survives, what was to be typed does not."""
    journal = Journal(tmp_path / "events.jsonl")
    secret = KeyInput(sequence="secret", ensure_enter=True)
    ReminderEvents(journal).registered(reminder(prompt=None, keys=secret))
    journal.close()

    left = restore(read_events(tmp_path / "events.jsonl"))

    assert [one.delivery_kind for one in left] == ["send_keys"]
    assert "secret" not in (tmp_path / "events.jsonl").read_text()

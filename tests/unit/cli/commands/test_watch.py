"""From when on somebody watches, and what a line says."""

from datetime import UTC, datetime, timedelta

import pytest

from posthouse.cli.commands import watch
from posthouse.clients.events import ReceivedEvent


@pytest.mark.parametrize(
    ("since", "ago", "asked"),
    [
        (None, None, None),
        ("start", None, "start"),
        ("7-0f3a9c1e", None, "7-0f3a9c1e"),
        ("10m", timedelta(minutes=10), "start"),
        ("1d", timedelta(days=1), "start"),
    ],
)
def test_the_beginning_is_a_time_or_an_event(
    since: str | None, ago: timedelta | None, asked: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People name a time back, programs an id."""
    now = datetime(2026, 3, 13, tzinfo=UTC)
    monkeypatch.setattr(watch.clock, "now", lambda: now)  # type: ignore[attr-defined]  # its own import

    assert watch._start(since) == (None if ago is None else now - ago, asked)


def test_a_gap_is_a_line_of_its_own() -> None:
    """Nobody takes it for an event."""
    fields = {"kind": "gap", "missing": 3, "reason": "older events are no longer kept"}

    told = watch._text(ReceivedEvent(event_id="9-end", fields=fields))

    assert told == "-- 3 events are missing: older events are no longer kept --"

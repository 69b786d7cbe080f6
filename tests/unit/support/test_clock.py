from datetime import UTC, datetime, timedelta, timezone

import pytest

from posthouse.support import clock

_MOMENT = datetime(2026, 3, 13, 1, 2, 3, 456789, tzinfo=timezone(timedelta(hours=2)))


def test_times_are_written_in_utc() -> None:
    """Each form of the contracts is UTC, whatever zone the time came in."""
    assert clock.iso_seconds(_MOMENT) == "2026-03-12T23:02:03+00:00"
    assert clock.iso_micros(_MOMENT) == "2026-03-12T23:02:03.456789+00:00"
    assert clock.compact(_MOMENT) == "20260312-230203Z"


@pytest.mark.parametrize("text", ["2026-03-12T23:02:03Z", "2026-03-12T23:02:03", "2026-03-13T01:02:03+02:00"])
def test_a_zone_may_be_z_an_offset_or_missing(text: str) -> None:
    """`Z` is allowed, and a naive time is UTC."""
    assert clock.parse(text) == datetime(2026, 3, 12, 23, 2, 3, tzinfo=UTC)

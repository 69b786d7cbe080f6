"""When a limit ends, from what CLIs say."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as some

from posthouse.tracking import resets

SEEN = datetime(2026, 11, 15, 13, 30, tzinfo=UTC)

WORDS: dict[str, str | None] = {
    "3pm (UTC)": "2026-11-15T15:00:00+00:00",
    "resets 3:45pm (Europe/Berlin)": "2026-11-15T14:45:00+00:00",
    "resets 1pm (UTC)": "2026-11-16T13:00:00+00:00",
    "12am (UTC)": "2026-11-16T00:00:00+00:00",
    "Access resets at 16:05 UTC": "2026-11-15T16:05:00+00:00",
    "resets Nov 20, 3pm (UTC)": "2026-11-20T15:00:00+00:00",
    "try again at Nov 20th, 2026 3:42 PM UTC": "2026-11-20T15:42:00+00:00",
    "try again in 2 days 3 hours 4 minutes": "2026-11-17T16:34:00+00:00",
    "Your quota will reset after 23h59m12s.": "2026-11-16T13:29:12+00:00",
    "in 45 minutes": "2026-11-15T14:15:00+00:00",
    "2026-11-15T18:00:00Z": "2026-11-15T18:00:00+00:00",
    "": None,
    "soon": None,
    "13pm (UTC)": None,
    "in 400 days": None,
    "Feb 31, 3pm (UTC)": None,
}


@pytest.mark.parametrize(("words", "told"), WORDS.items(), ids=WORDS.keys())
def test_what_cli_words_mean(words: str, told: str | None) -> None:
    """The next such moment; what can't be believed is none."""
    found = resets.reset_time(words, seen_at=SEEN)

    assert (None if found is None else found.isoformat()) == told


@given(some.text(alphabet="0123456789apm:dhs ,-TZ()UCin/aftero", max_size=60))
def test_words_of_any_kind_are_read_or_left(words: str) -> None:
    """A screen holds whatever an agent writes."""
    found = resets.reset_time(words, seen_at=SEEN)

    assert found is None or found > SEEN

"""When the notifier looks, and when unchanged mail wakes again."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from posthouse.gateway.mail.notifier import pacing
from posthouse.queue import NotifierHistory, Settings, WakeRecord, WakeRule
from posthouse.support import clock

_NOW = datetime(2026, 3, 19, 8, 0, 0, tzinfo=UTC)
_SETTINGS = Settings(enabled=True, interval_seconds=60)


def _ago(seconds: float) -> str:
    return clock.iso_seconds(_NOW - timedelta(seconds=seconds))


def test_the_digest_is_the_contract_s() -> None:
    """It is the SHA-256 of the sorted references, one a line."""
    assert pacing.digest(["b", "a"]) == hashlib.sha256(b"a\nb").hexdigest()


@pytest.mark.parametrize(
    ("updated", "polled", "expected"),
    [
        pytest.param(10, None, 50, id="enabled ten seconds before the restart"),
        pytest.param(500, 20, 40, id="polled twenty seconds before the restart"),
        pytest.param(500, 100, 0, id="a poll is overdue"),
        pytest.param(5, 100, 55, id="set anew after the last poll"),
        pytest.param(-1000, None, 60, id="a clock that was set back waits no longer than an interval"),
    ],
)
def test_a_restart_does_not_put_the_poll_off(updated: float, polled: float | None, expected: float) -> None:
    """A gateway that starts again waits as long as the last one would have."""
    past = NotifierHistory(
        updated_at_utc=_ago(updated), last_poll_at_utc=None if polled is None else _ago(polled)
    )

    assert pacing.seconds_to_first_poll(_SETTINGS, past, _NOW) == expected


def _pause(count: int, ago: float, *, most: int | None = 600, is_unchanged: bool = True) -> float:
    wakes = WakeRecord(
        message_ref="m", first_at_utc=_ago(9999), last_at_utc=_ago(ago), count=count, is_noted=False
    )
    rule = WakeRule(backoff_max_seconds=most)
    return pacing.seconds_to_repeat([wakes], _SETTINGS, rule, is_unchanged=is_unchanged, now=_NOW)


def test_unchanged_mail_backs_off() -> None:
    """The pauses double from one interval up to the limit, and count from the last wake-up."""
    assert [_pause(count, 0) for count in (1, 2, 3, 4, 5, 50)] == [59, 119, 239, 479, 599, 599]
    assert [_pause(3, ago) for ago in (60, 239, 300)] == [179, 0, 0]


def test_without_a_back_off_or_with_new_mail_it_wakes_at_once() -> None:
    """The contract's timing is the default, and news is never put off."""
    assert [_pause(5, 0, most=None), _pause(5, 0, is_unchanged=False)] == [0, 0]

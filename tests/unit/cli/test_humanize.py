"""Sizes and times for people."""

from datetime import UTC, datetime, timedelta

import pytest

from posthouse.cli import humanize

_NOW = datetime(2026, 3, 13, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "now"),
        (1, "now"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (7200, "2 h ago"),
        (86400, "1 day ago"),
        (86400 * 364, "364 days ago"),
        (86400 * 365 * 2, "2 years ago"),
    ],
)
def test_times_are_said_in_their_largest_unit(seconds: int, said: str) -> None:
    """A listing shows how long ago, and a clock that went back shows now."""
    assert humanize.ago(_NOW - timedelta(seconds=seconds), _NOW) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (4200, "4.1 KiB"),
        (1 << 30, "1.0 GiB"),
        (1 << 42, "4.0 TiB"),
    ],
)
def test_sizes_are_binary(count: int, said: str) -> None:
    """Bytes are shown in units a person can compare."""
    assert humanize.size(count) == said

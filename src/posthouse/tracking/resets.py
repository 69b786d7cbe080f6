"""Parses the CLI's text for the end of a usage limit. Pure, except for the machine's time zone.

3pm (Europe/Berlin)      Nov 20th, 2026 3:42 PM      in 2 days 3 hours      after 23h59m12s
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

#: Limits end within days; a later time is a misread.
_FURTHEST = timedelta(days=32)
_AMOUNT = re.compile(
    r"(\d{1,5})\s*(d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])"
)
_SPAN = re.compile(rf"\b(?:in|after)\s+((?:{_AMOUNT.pattern}[\s,]*(?:and\s+)?)+)")
_CLOCK = re.compile(
    r"(?<![\d:])(\d{1,2})(?::(\d{2}))?(?::\d{2})?\s*([ap])\.?m\b|(?<![\d:])(\d{1,2}):(\d{2})(?![\d:])"
)
_DAY = re.compile(
    r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?"
)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}t\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:z|[+-]\d{2}:?\d{2})?")
_ZONE = re.compile(r"\(([a-z_]+(?:/[a-z_+\-0-9]+)*)\)|\b(utc|gmt)\b")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNITS: Mapping[str, str] = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def reset_time(words: str, *, seen_at: datetime) -> datetime | None:
    """The time in *words*, read at *seen_at*; None if there is no plausible one.

    A time of day without a zone is in the machine's zone and means its next occurrence.
    """
    text = words[:300].casefold()
    try:
        found = _iso(text) or _span(text, seen_at) or _clock(text, words, seen_at)
    except (ValueError, OverflowError):
        return None
    if found is None or not timedelta() < found - seen_at < _FURTHEST:
        return None
    return found.astimezone(UTC)


def _iso(text: str) -> datetime | None:
    if (match := _ISO.search(text)) is None:
        return None
    found = datetime.fromisoformat(match[0].upper())
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def _span(text: str, seen_at: datetime) -> datetime | None:
    if (match := _SPAN.search(text)) is None:
        return None
    amounts = [(_UNITS[one[2][0]], int(one[1])) for one in _AMOUNT.finditer(match[1])]
    return seen_at + sum((timedelta(**{unit: number}) for unit, number in amounts), timedelta())


def _clock(text: str, words: str, seen_at: datetime) -> datetime | None:
    if (match := _CLOCK.search(text)) is None:
        return None
    here = seen_at.astimezone(_zone(words))
    hour, minute = _time_of_day(match)
    day = _DAY.search(text)
    found = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if day is None:
        return found if found > here else found + timedelta(days=1)
    month = _MONTHS.index(day[1]) + 1
    found = found.replace(year=int(day[3] or here.year), month=month, day=int(day[2]))
    return found if day[3] or found > here else found.replace(year=here.year + 1)


def _time_of_day(match: re.Match[str]) -> tuple[int, int]:
    if match[3] is None:
        return int(match[4]), int(match[5])
    hour = int(match[1])
    if not 1 <= hour <= 12:
        raise ValueError("no such hour")
    return hour % 12 + (12 if match[3] == "p" else 0), int(match[2] or 0)


def _zone(words: str) -> tzinfo | None:
    """The zone in *words*; None: the machine's zone."""
    match = re.search(_ZONE.pattern, words[:300], re.IGNORECASE)
    if match is None:
        return None
    if match[2] is not None:
        return UTC
    try:
        return ZoneInfo(match[1])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None

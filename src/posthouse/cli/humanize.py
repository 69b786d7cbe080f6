"""Sizes and ages in readable units."""

from datetime import datetime

#: Seconds per unit, with its singular and plural.
_UNITS = (
    (365 * 86400, "year", "years"),
    (86400, "day", "days"),
    (3600, "h", "h"),
    (60, "min", "min"),
    (1, "s", "s"),
)


def ago(moment: datetime, now: datetime) -> str:
    """`now`, `40 s ago`, `3 min ago`, `2 h ago`, `5 days ago`."""
    passed = int((now - moment).total_seconds())
    if passed < 2:
        return "now"
    seconds, one, several = next(unit for unit in _UNITS if passed >= unit[0])
    count = passed // seconds
    return f"{count} {one if count == 1 else several} ago"


def size(count: int) -> str:
    """`0 B`, `812 B`, `4.1 KiB`, `1.0 GiB`."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{int(value)} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"

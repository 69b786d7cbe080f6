"""Sizes and times as people say them."""

from datetime import datetime

_STEPS = ((60, "s"), (60, "min"), (24, "h"), (365, "days"))


def ago(moment: datetime, now: datetime) -> str:
    """`now`, `40 s ago`, `3 min ago`, `2 h ago`, `5 days ago`."""
    value = max(0.0, (now - moment).total_seconds())
    if value < 2:
        return "now"
    for limit, unit in _STEPS:
        if value < limit:
            break
        value /= limit
    else:
        return f"{int(value)} years ago"
    return f"{int(value)} {unit if unit != 'days' or int(value) != 1 else 'day'} ago"


def size(count: int) -> str:
    """`0 B`, `812 B`, `4.1 KiB`, `1.0 GiB`."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{int(value)} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"

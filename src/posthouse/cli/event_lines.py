"""Formats one event as a line of text."""

from collections.abc import Mapping
from typing import Any

#: Events have no common time field: the first of these that is present counts.
_TIMES = (
    *("at_utc", "accepted_at_utc", "submitted_at_utc", "started_at_utc", "completed_at_utc"),
    *("finished_at_utc", "coalesced_at_utc", "created_at_utc"),
)


def format_event(event: Mapping[str, Any]) -> str:
    """*event* as `time  name  key=value …`."""
    rest = _flatten(event)
    moment = time_of(event) or ""
    name = str(rest.pop("kind", "event"))
    shown = [f"{key}={value}" for key, value in sorted(rest.items()) if value not in (None, "", moment)]
    return "  ".join(part for part in (moment[:19].replace("T", " "), name, " ".join(shown)) if part)


def time_of(event: Mapping[str, Any]) -> str | None:
    """The event's time, or None."""
    flat = _flatten(event)
    return next((str(flat[key]) for key in _TIMES if flat.get(key)), None)


def _flatten(event: Mapping[str, Any]) -> dict[str, Any]:
    fields = dict(event)
    result = fields.pop("result_json", None)
    return {**result, **fields} if isinstance(result, dict) else fields

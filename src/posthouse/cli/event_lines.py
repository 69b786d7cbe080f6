"""One event as a line for a person."""

from collections.abc import Mapping
from typing import Any

#: Events have no common time field; this is the one that says when it happened.
_TIMES = (
    *("at_utc", "accepted_at_utc", "submitted_at_utc", "started_at_utc", "completed_at_utc"),
    *("finished_at_utc", "coalesced_at_utc", "created_at_utc"),
)


def told(event: Mapping[str, Any]) -> str:
    """*event* as `time  name  key=value …`."""
    rest = _flat(event)
    moment = moment_of(event) or ""
    name = str(rest.pop("kind", "event"))
    shown = [f"{key}={value}" for key, value in sorted(rest.items()) if value not in (None, "", moment)]
    return "  ".join(part for part in (moment[:19].replace("T", " "), name, " ".join(shown)) if part)


def moment_of(event: Mapping[str, Any]) -> str | None:
    """When it happened, as far as it says."""
    flat = _flat(event)
    return next((str(flat[key]) for key in _TIMES if flat.get(key)), None)


def _flat(event: Mapping[str, Any]) -> dict[str, Any]:
    fields = dict(event)
    result = fields.pop("result_json", None)
    return {**result, **fields} if isinstance(result, dict) else fields

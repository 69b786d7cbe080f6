"""Helpers shared by the event stream decoders. Standard library only."""

import json
from collections.abc import Mapping
from typing import Any

_ID_KEYS = ("session_id", "sessionId", "thread_id", "threadId")
_ID_PARENTS = ("session", "thread")
_USAGE_KEYS = (
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "total_tokens",
    "tool_calls",
    "duration_ms",
    "total_cost_usd",
    "thoughts_token_count",
    "reasoning_tokens",
)
_USAGE_ALIASES = {"cached": "cached_input_tokens", "thoughtsTokenCount": "thoughts_token_count"}
_LINE_CHARS = 240


def session_id(record: Mapping[str, Any]) -> str | None:
    """The conversation id in *record*, from any of the places that providers use."""
    found = _first_text(record, _ID_KEYS)
    if found:
        return found
    for parent in _ID_PARENTS:
        if found := _first_text(_mapping(record.get(parent)), ("id",)):
            return found
    return _first_text(_mapping(record.get("data")), _ID_KEYS)


def usage(value: object) -> dict[str, Any] | None:
    """Token counts under the shared names; a mapping without any of them is returned unchanged."""
    if not isinstance(value, Mapping):
        return None
    renamed = {_USAGE_ALIASES.get(key, key): amount for key, amount in value.items()}
    renamed |= {key: value[key] for key in _USAGE_KEYS if key in value}
    known = {key: renamed[key] for key in _USAGE_KEYS if key in renamed}
    return known or dict(value)


def one_line(value: object) -> str:
    """*value* for display: one line of bounded length."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    # Bounds the work: a huge result is not split word by word.
    flat = " ".join(text[: _LINE_CHARS * 8].split())
    return flat if len(flat) <= _LINE_CHARS else flat[: _LINE_CHARS - 1] + "…"


def _first_text(record: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

"""Shared wire helpers of the clients: model overrides, idempotency keys and error texts."""

import re
from collections.abc import Mapping
from typing import Any

from posthouse.errors import InvalidInput

_KEY = re.compile(r"[!-~]{1,255}")


def idempotency_header(key: str | None) -> Mapping[str, str]:
    """The header that makes a request safe to repeat.

    Raises:
        InvalidInput: The key is not valid in a header; no request was sent.
    """
    if key is None:
        return {}
    if not _KEY.fullmatch(key):
        message = "an idempotency key must have 1 to 255 visible ASCII characters and no spaces"
        raise InvalidInput(message, code="bad_idempotency_key")
    return {"Idempotency-Key": key}


def execution_override(model: str | None, reasoning_level: int | None) -> dict[str, Any]:
    """The body field that overrides the model for one prompt; empty without an override."""
    if model is None and reasoning_level is None:
        return {}
    chosen: dict[str, Any] = {}
    if model is not None:
        chosen["name"] = model
    if reasoning_level is not None:
        chosen["reasoning"] = {"level": reasoning_level}
    return {"execution": {"model": chosen}}


def without_none(query: Mapping[str, object | None]) -> dict[str, str]:
    """The query parameters that are not None."""
    return {name: str(value) for name, value in query.items() if value is not None}


def format_detail(detail: Any) -> str:
    """*detail* as text: a string, the string inside an object, or the problems of a body."""
    if isinstance(detail, str):
        return detail
    if isinstance(detail, dict):
        return str(detail.get("detail", detail))
    if isinstance(detail, list):
        return "; ".join(_problem(one) for one in detail if isinstance(one, dict))
    return ""


def _problem(one: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in one.get("loc", ()) if part != "body")
    return f"{place}: {one.get('msg')}" if place else str(one.get("msg"))

"""What the clients of our services share of the wire: overrides, keys, and refusals in words."""

import re
from collections.abc import Mapping
from typing import Any

from posthouse.errors import InvalidInput

_KEY = re.compile(r"[!-~]{1,255}")


class BadIdempotencyKey(InvalidInput):
    """No header could carry it; nothing was asked."""

    code = "bad_idempotency_key"

    def __init__(self) -> None:
        super().__init__("an idempotency key has 1 to 255 visible ASCII characters, and no spaces")


def key_header(key: str | None) -> Mapping[str, str]:
    """The header that makes a question safe to repeat.

    Raises:
        BadIdempotencyKey: No header can carry it.
    """
    if key is None:
        return {}
    if not _KEY.fullmatch(key):
        raise BadIdempotencyKey
    return {"Idempotency-Key": key}


def execution_of(model: str | None, reasoning_level: int | None) -> dict[str, Any]:
    """The part of a body that overrides the model for one prompt; empty when nothing is overridden."""
    if model is None and reasoning_level is None:
        return {}
    chosen: dict[str, Any] = {}
    if model is not None:
        chosen["name"] = model
    if reasoning_level is not None:
        chosen["reasoning"] = {"level": reasoning_level}
    return {"execution": {"model": chosen}}


def present(query: Mapping[str, object | None]) -> dict[str, str]:
    """The parts of a query that are asked for."""
    return {name: str(value) for name, value in query.items() if value is not None}


def words_of(detail: Any) -> str:
    """*detail* for a person: a text, the text inside an object, or the problems of a body one by one."""
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

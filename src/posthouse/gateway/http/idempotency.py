"""Reads the `Idempotency-Key` header."""

import re

from posthouse.queue import MAX_KEY_LENGTH
from posthouse.web.error_responses import InvalidBody, problem
from posthouse.web.route import RouteInput

_NAME = "idempotency-key"
_VISIBLE = re.compile(r"[\x21-\x7e]+\Z")
HEADERS = {
    _NAME: "A repeat with the same key within a day returns the first response and does nothing else; "
    "a different body with the same key is refused."
}


def key_name(http: RouteInput) -> str | None:
    """The caller's idempotency key; None without one.

    Raises:
        InvalidBody: It is blank, too long, or not made of visible ASCII characters.
    """
    key = http.headers.get(_NAME)
    if key is None:
        return None
    if len(key) > MAX_KEY_LENGTH or not _VISIBLE.match(key):
        message = f"Must be 1 to {MAX_KEY_LENGTH} visible ASCII characters"
        raise InvalidBody([problem("idempotency_key", ["header", _NAME], message, key[:MAX_KEY_LENGTH])])
    return key

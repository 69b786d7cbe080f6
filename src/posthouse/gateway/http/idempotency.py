"""The `Idempotency-Key` header, as it came."""

import re

from posthouse.queue import MAX_KEY_LENGTH
from posthouse.web.error_responses import InvalidBody, problem
from posthouse.web.route import Addressed

_NAME = "idempotency-key"
_VISIBLE = re.compile(r"[\x21-\x7e]+\Z")
HEARD = {
    _NAME: "A repeat under the same key, within a day, gets the first answer and does nothing; "
    "another body under it is refused."
}


def named(asked: Addressed) -> str | None:
    """The key that the caller gave; None without one.

    Raises:
        InvalidBody: It is blank, too long, or not made of visible ASCII characters.
    """
    name = asked.headers.get(_NAME)
    if name is None:
        return None
    if len(name) > MAX_KEY_LENGTH or not _VISIBLE.match(name):
        told = f"Give 1 to {MAX_KEY_LENGTH} visible ASCII characters"
        raise InvalidBody([problem("idempotency_key", ["header", _NAME], told, name[:MAX_KEY_LENGTH])])
    return name

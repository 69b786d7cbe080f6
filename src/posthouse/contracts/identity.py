"""Agent names, and the values derived from them."""

import re
from datetime import datetime

from posthouse.contracts import names
from posthouse.errors import InvalidInput

COMPONENT_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*\Z"
_COMPONENT = re.compile(COMPONENT_PATTERN)
_RESERVED = re.compile(r"houmao[^a-z0-9]", re.IGNORECASE)
_AUTO_NAME_CHARS = 40


def component(text: str, *, what: str) -> str:
    """Return *text* trimmed if it may name an agent or be its id.

    Raises:
        InvalidInput: The text is not allowed; the message names the rule.
    """
    trimmed = text.strip()
    if not _COMPONENT.match(trimmed):
        raise InvalidInput(
            f"{what} {text!r} can't be used: start with a letter or digit, "
            "then letters, digits, '_' and '-' only",
            code="bad_name",
        )
    return trimmed


def user_name(text: str) -> str:
    """Return *text* trimmed if it is allowed as a user-chosen name.

    Raises:
        InvalidInput: The text is not allowed, or it has the reserved prefix.
    """
    name = component(text, what="agent name")
    if _RESERVED.match(name):
        raise InvalidInput(
            f"agent name {text!r} can't start with {name[:7]!r}: that prefix is reserved", code="bad_name"
        )
    return name


def canonical(name: str) -> str:
    """`gpu` and `HOUMAO-gpu` both give `HOUMAO-gpu`."""
    return name if name.startswith(names.PREFIX) else names.PREFIX + name


def same_agent(one: str, other: str) -> bool:
    return canonical(one) == canonical(other)


def generated_name(tool: str, role: str) -> str:
    """The generated name of an unnamed agent."""
    base = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{tool}-{role}").strip("-")
    return names.PREFIX + base[:_AUTO_NAME_CHARS]


def default_id(stored_name: str) -> str:
    """The default agent id of a stored name: its MD5, used only as an identifier."""
    import hashlib  # only a launch makes ids, and OpenSSL is slow to load

    return hashlib.md5(stored_name.encode(), usedforsecurity=False).hexdigest()


def tmux_session_name(name: str, moment: datetime) -> str:
    return f"{canonical(name)}-{int(moment.timestamp() * 1000)}"

"""How agents are named, and what follows from a name."""

import re
from datetime import datetime

from posthouse.contracts import names
from posthouse.errors import InvalidInput

COMPONENT_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*\Z"
_COMPONENT = re.compile(COMPONENT_PATTERN)
_RESERVED = re.compile(r"houmao[^a-z0-9]", re.IGNORECASE)
_AUTO_NAME_CHARS = 40


class BadName(InvalidInput):
    """The name or id can't be used."""

    code = "bad_name"


def component(text: str, *, what: str) -> str:
    """Return *text* trimmed if it may name an agent or be its id.

    Raises:
        BadName: It may not; the message says which rule it breaks.
    """
    trimmed = text.strip()
    if not _COMPONENT.match(trimmed):
        raise BadName(
            f"{what} {text!r} can't be used: start with a letter or digit, "
            "then letters, digits, '_' and '-' only"
        )
    return trimmed


def user_name(text: str) -> str:
    """Return a name that a person chose.

    Raises:
        BadName: It is not a component, or it claims the reserved prefix.
    """
    name = component(text, what="agent name")
    if _RESERVED.match(name):
        raise BadName(f"agent name {text!r} can't start with {name[:7]!r}: that prefix is reserved")
    return name


def canonical(name: str) -> str:
    """`gpu` and `HOUMAO-gpu` both give `HOUMAO-gpu`."""
    return name if name.startswith(names.PREFIX) else names.PREFIX + name


def same_agent(one: str, other: str) -> bool:
    return canonical(one) == canonical(other)


def automatic(tool: str, role: str) -> str:
    """The stored name of an agent that nobody named."""
    base = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{tool}-{role}").strip("-")
    return names.PREFIX + base[:_AUTO_NAME_CHARS]


def default_id(stored_name: str) -> str:
    """The agent id that follows from a stored name: its MD5, an identifier and no more."""
    import hashlib  # only a launch makes ids, and OpenSSL is slow to load

    return hashlib.md5(stored_name.encode(), usedforsecurity=False).hexdigest()


def tmux_session_name(name: str, moment: datetime) -> str:
    return f"{canonical(name)}-{int(moment.timestamp() * 1000)}"

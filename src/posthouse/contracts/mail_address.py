"""Mail addresses and principals: validation, and defaults from an agent's name."""

import re
from functools import lru_cache

from posthouse.contracts import names
from posthouse.errors import InvalidInput

DOMAIN = "houmao.localhost"
OPERATOR_PRINCIPAL = f"{names.PREFIX}operator"
OPERATOR_ADDRESS = f"{OPERATOR_PRINCIPAL}@{DOMAIN}"
OPERATOR_ROLE = "system_operator"
OPERATOR_DISPLAY_NAME = "Houmao Operator"

_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._+-]*@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"{_PATTERN}\Z", re.ASCII)
_STASHED = re.compile(rf"({_PATTERN})--[0-9a-f]{{32}}\Z", re.ASCII)
#: An address is used as a folder name.
_MAX_CHARS = 200
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")


def check(text: str) -> str:
    """Return *text* trimmed if it is a full mail address.

    Raises:
        InvalidInput: It is not an address; the message shows the format.
    """
    address = text.strip()
    if not is_address(address):
        hint = f"; did you mean {default_address(address)}?" if "@" not in address and address else ""
        raise InvalidInput(
            f"{text!r} is not a full mail address such as name@{DOMAIN}{hint}", code="bad_address"
        )
    return address


@lru_cache(maxsize=4096)
def is_address(text: str) -> bool:
    """Whether *text* is a full mail address, and thereby one safe path segment."""
    return _ADDRESS.match(text) is not None and ".." not in text and len(text) <= _MAX_CHARS


def stashed_address(name: str) -> str | None:
    """The address of the stashed mailbox in the folder *name*, or None."""
    matched = _STASHED.match(name)
    return matched[1] if matched and is_address(matched[1]) else None


def is_reserved(address: str) -> bool:
    """Whether only the system itself may register *address*."""
    local, _, domain = address.partition("@")
    return domain == DOMAIN and local.startswith(names.PREFIX)


def default_principal(name: str) -> str:
    """`gpu` and `HOUMAO-gpu` both give `HOUMAO-gpu`."""
    return names.PREFIX + _local(name)


def default_address(name: str) -> str:
    """`gpu` and `HOUMAO-gpu` both give `gpu@houmao.localhost`."""
    return f"{_local(name)}@{DOMAIN}"


def _local(name: str) -> str:
    safe = _UNSAFE.sub("-", name.removeprefix(names.PREFIX)).strip("-._+")
    return re.sub(r"\.{2,}", ".", safe) or "agent"

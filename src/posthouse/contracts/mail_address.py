"""Mail addresses and principals: which are allowed, and what follows from an agent's name."""

import re

from posthouse.contracts import names
from posthouse.errors import InvalidInput

DOMAIN = "houmao.localhost"
OPERATOR_PRINCIPAL = f"{names.PREFIX}operator"
OPERATOR_ADDRESS = f"{OPERATOR_PRINCIPAL}@{DOMAIN}"
OPERATOR_ROLE = "system_operator"
OPERATOR_DISPLAY_NAME = "Houmao Operator"

_ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\Z", re.ASCII)
#: An address is the name of a folder.
_MAX_CHARS = 200
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")


class BadAddress(InvalidInput):
    """It can't be a mail address here."""

    code = "bad_address"


def check(text: str) -> str:
    """Return *text* trimmed if it is a full mail address.

    Raises:
        BadAddress: It is not; the message says what an address looks like.
    """
    address = text.strip()
    if not _ADDRESS.match(address) or ".." in address or len(address) > _MAX_CHARS:
        hint = f"; did you mean {default_address(address)}?" if "@" not in address and address else ""
        raise BadAddress(f"{text!r} is not a full mail address such as name@{DOMAIN}{hint}")
    return address


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

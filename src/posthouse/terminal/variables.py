"""Environment variables on their way into tmux and out of it."""

import re
from collections.abc import Mapping

from posthouse.errors import InvalidInput

#: The kernel gives a program no longer string than this, name and `=` included.
_MAX_BYTES = 128 * 1024 - 1
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(
    r'(?P<name>[^="\n]+)="(?P<value>(?:[^"\\]|\\.)*)"; export [^\n]+;(?:\n|\Z)|unset [^\n]+;(?:\n|\Z)',
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class BadVariable(InvalidInput):
    """No program could be started with this environment variable."""

    code = "bad_variable"


def check(values: Mapping[str, str]) -> None:
    """Refuse what a program could not be given.

    Raises:
        BadVariable: A name is none, or a value is too long. The value is not in the message.
    """
    for name, value in values.items():
        if not _NAME.fullmatch(name):
            raise BadVariable(f"{name!r} cannot name an environment variable")
        if len(f"{name}={value}".encode(errors="surrogateescape")) > _MAX_BYTES:
            raise BadVariable(f"the value of {name} is longer than a program can be given (128 KB)")


def flags(values: Mapping[str, str]) -> list[str]:
    """*values* as the `-e` arguments of a command that starts a program. Raises as `check` does."""
    check(values)
    return [word for name, value in values.items() for word in ("-e", f"{name}={value}")]


def parse(text: str) -> dict[str, str]:
    """The variables that `show-environment -s` printed, without those it unsets.

    Shell quoting is tmux's one form in which a newline in a value cannot pass for another variable.
    """
    found = _ASSIGNMENT.finditer(text)
    return {match["name"]: _ESCAPED.sub(r"\1", match["value"]) for match in found if match["name"]}

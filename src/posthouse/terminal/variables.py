"""Environment variables as tmux arguments and from tmux output."""

import re
from collections.abc import Mapping

from posthouse.errors import InvalidInput

#: The kernel's limit for one variable, including name and `=`.
_MAX_BYTES = 128 * 1024 - 1
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(
    r'(?P<name>[^="\n]+)="(?P<value>(?:[^"\\]|\\.)*)"; export [^\n]+;(?:\n|\Z)|unset [^\n]+;(?:\n|\Z)',
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BAD_VARIABLE = "bad_variable"


def check(values: Mapping[str, str]) -> None:
    """Check that the variables can be passed to a program.

    Raises:
        InvalidInput: `bad_variable`: a name is invalid, or a value is too long. The message omits the value.
    """
    for name, value in values.items():
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} cannot name an environment variable", code=_BAD_VARIABLE)
        if len(f"{name}={value}".encode(errors="surrogateescape")) > _MAX_BYTES:
            message = f"the value of {name} is longer than a program can be given (128 KB)"
            raise InvalidInput(message, code=_BAD_VARIABLE)


def flags(values: Mapping[str, str]) -> list[str]:
    """*values* as the `-e` arguments of a command that starts a program. Raises as `check` does."""
    check(values)
    return [word for name, value in values.items() for word in ("-e", f"{name}={value}")]


def parse(text: str) -> dict[str, str]:
    """Parse the output of `show-environment -s`, without the variables it unsets.

    Only in this format can a newline in a value not be mistaken for another variable.
    """
    found = _ASSIGNMENT.finditer(text)
    return {match["name"]: _ESCAPED.sub(r"\1", match["value"]) for match in found if match["name"]}

"""Values of an agent's environment variables, stored in a 0600 file for every start of its program.

The manifest and the brain manifest hold the names only.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from posthouse.errors import InvalidInput
from posthouse.support import files, untrusted_files
from posthouse.terminal import variables

_FILE = "launch-env.json"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MAX_VALUE_BYTES = 128 * 1024  # what Linux allows one variable


def file_of(root: Path) -> Path:
    """The values file of the session at *root*; every start of its program reads it."""
    return root / _FILE


def write(root: Path, values: Mapping[str, str]) -> None:
    """Store *values* durably for every start of the session's program.

    Raises:
        InvalidInput: A value can't be passed to a program; nothing was written.
    """
    variables.check(values)
    files.write_json(file_of(root), dict(values), durable=True)


def collect(
    given: Iterable[str], environment: Mapping[str, str], env_files: Iterable[Path] = ()
) -> dict[str, str]:
    """The variables of a launch: env files first, then `K` (the caller's own value) and `K=V`.

    Raises:
        InvalidInput: A name is invalid, a value is missing or too long, or a file can't be read.
    """
    values: dict[str, str] = {}
    for path in env_files:
        values |= parse_env_file(path)
    for item in given:
        name, equals, value = item.partition("=")
        if not equals and name in environment:
            value = environment[name]
        elif not equals:
            raise _bad_variable(f"--env {name}: there is no variable {name} to take the value from")
        values[_checked(name, value, where="--env")] = value
    return values


def parse_env_file(path: Path) -> dict[str, str]:
    """Read `K=V` lines. `export`, blank lines, `#` comments and surrounding quotes are allowed."""
    try:
        lines = untrusted_files.read_own_bytes(path, follow=True).decode().splitlines()
    except (OSError, ValueError) as error:
        raise _bad_variable(f"env file {path} can't be read: {error}") from error
    values: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip().removeprefix("export ").lstrip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        where = f"{path}, line {number}"
        if not equals:
            # The message omits the line: it may be a bare secret.
            raise _bad_variable(f"{where}: write NAME=VALUE")
        values[_checked(name.strip(), value, where=where)] = _unquoted(value.strip())
    return values


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _checked(name: str, value: str, *, where: str) -> str:
    if not _NAME.match(name):
        raise _bad_variable(f"{where}: {name!r} is not a variable name")
    if "\0" in value or len(value.encode()) > _MAX_VALUE_BYTES:
        raise _bad_variable(
            f"{where}: the value of {name} holds a NUL byte or is over {_MAX_VALUE_BYTES} bytes"
        )
    return name


def _bad_variable(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_variable")

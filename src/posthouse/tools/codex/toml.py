"""Writes TOML for Codex's configuration and command line. Pure.

The standard library only reads TOML. Comments are lost, as when Codex itself writes the file.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time

Value = object

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")


def dumps(document: Mapping[str, Value]) -> str:
    """*document*, as returned by `tomllib`, as text that parses to the same value."""
    return "\n".join(_table(document, ())).lstrip("\n") + "\n"


def value(item: Value) -> str:
    """One value as a single line."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        return _string(item)
    if isinstance(item, int | float):
        # Python and TOML write numbers alike, including `inf` and `nan`.
        return repr(item)
    if isinstance(item, datetime | date | time):
        return item.isoformat()
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {value(part)}" for name, part in item.items()) + "}"
    if isinstance(item, Sequence):
        return "[" + ", ".join(value(part) for part in item) + "]"
    raise TypeError(f"TOML has no value for {type(item).__name__}")


def _table(table: Mapping[str, Value], path: tuple[str, ...]) -> Iterator[str]:
    """The lines of *table*: plain values first, because keys after a header belong to that header."""
    plain = {name: item for name, item in table.items() if not isinstance(item, Mapping)}
    if path and (plain or not table):
        yield f"\n[{'.'.join(_key(name) for name in path)}]"
    for name, item in plain.items():
        yield f"{_key(name)} = {value(item)}"
    for name, item in table.items():
        if isinstance(item, Mapping):
            yield from _table(item, (*path, name))


def _key(name: str) -> str:
    return name if _BARE_KEY.match(name) else _string(name)


def _string(text: str) -> str:
    # A JSON string is a TOML string, except for DEL, which JSON does not escape.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

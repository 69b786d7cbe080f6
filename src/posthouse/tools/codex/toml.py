"""TOML as Codex's configuration and its command line want it written. Pure.

The standard library reads TOML and does not write it. Comments are lost; Codex writes the file itself, too.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time

Value = object

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")


def dumps(document: Mapping[str, Value]) -> str:
    """*document*, as `tomllib` gives it, as text that reads back the same."""
    return "\n".join(_table(document, ())).lstrip("\n") + "\n"


def value(item: Value) -> str:
    """One value on one line."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        return _string(item)
    if isinstance(item, int | float):
        # Python and TOML agree on numbers, `inf` and `nan` included.
        return repr(item)
    if isinstance(item, datetime | date | time):
        return item.isoformat()
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {value(part)}" for name, part in item.items()) + "}"
    if isinstance(item, Sequence):
        return "[" + ", ".join(value(part) for part in item) + "]"
    raise TypeError(f"TOML has no value for {type(item).__name__}")


def _table(table: Mapping[str, Value], path: tuple[str, ...]) -> Iterator[str]:
    """The lines of *table*: its own values first, because what follows a header belongs to that."""
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
    # A JSON string is a TOML string, but for the one control character that JSON leaves bare.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

"""Parser for the YAML subset of mail documents, without a library.

Supports block mappings and lists, plain and quoted values on one line, and flow values that are JSON.
Anything else is refused with a specific error.
"""

import json
import re
from typing import Any

from posthouse.contracts.mail_document import BadDocument

_MAX_DEPTH = 8
_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s'"\[\]{}#&*!|>%@`,-][^:#]*?)\s*:(?:\s+(.*))?\Z""")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_WORDS = {"null": None, "~": None, "true": True, "false": False, "": None}


class _Lines:
    """The remaining lines, with their indentation."""

    def __init__(self, text: str) -> None:
        kept = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]
        self._lines = [(len(line) - len(line.lstrip(" ")), line.strip()) for line in kept]
        self._at = 0

    def peek(self) -> tuple[int, str] | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def take(self) -> tuple[int, str]:
        self._at += 1
        return self._lines[self._at - 1]

    def put_back(self, depth: int, line: str) -> None:
        self._at -= 1
        self._lines[self._at] = (depth, line)


def parse(text: str) -> dict[str, Any]:
    """Parse *text* as a mapping.

    Raises:
        BadDocument: The text is not YAML or uses unsupported features.
    """
    if "\t" in text:
        raise BadDocument("the front matter holds a tab; indent with blanks")
    lines = _Lines(text)
    read = _mapping(lines, 0, 0)
    left = lines.peek()
    if left is not None:
        raise BadDocument(f"the front matter is not understood at {left[1][:60]!r}")
    return read


def _mapping(lines: _Lines, depth: int, level: int) -> dict[str, Any]:
    if level > _MAX_DEPTH:
        raise BadDocument("the front matter is nested too deeply")
    read: dict[str, Any] = {}
    while (upcoming := lines.peek()) is not None and upcoming[0] == depth and not _is_item(upcoming[1]):
        _, line = lines.take()
        matched = _KEY.match(line)
        if matched is None:
            raise BadDocument(f"the front matter is not understood at {line[:60]!r}")
        key = str(_scalar(matched[1]))
        if key in read:
            raise BadDocument(f"the front matter has {key[:60]!r} twice")
        read[key] = _scalar(matched[2]) if matched[2] else _below(lines, depth, level)
    return read


def _below(lines: _Lines, depth: int, level: int) -> Any:
    """The block value under a key: a list at the same depth or deeper, a deeper mapping, or null."""
    upcoming = lines.peek()
    if upcoming is None or upcoming[0] < depth:
        return None
    if _is_item(upcoming[1]):
        return _list(lines, upcoming[0], level + 1)
    return _mapping(lines, upcoming[0], level + 1) if upcoming[0] > depth else None


def _list(lines: _Lines, depth: int, level: int) -> list[Any]:
    if level > _MAX_DEPTH:
        raise BadDocument("the front matter is nested too deeply")
    read: list[Any] = []
    while (upcoming := lines.peek()) is not None and upcoming[0] == depth and _is_item(upcoming[1]):
        _, line = lines.take()
        item = line[1:].lstrip()
        if _KEY.match(item):
            inner = depth + len(line) - len(item)
            lines.put_back(inner, item)
            read.append(_mapping(lines, inner, level + 1))
        else:
            read.append(_scalar(item))
    return read


def _is_item(line: str) -> bool:
    return line == "-" or line.startswith("- ")


def _scalar(text: str) -> Any:
    text = text.strip()
    if text[:1] in ('"', "[", "{"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadDocument(
                f"{text[:60]!r} is not read without a YAML library; write it as JSON"
            ) from error
    if text[:1] == "'":
        if len(text) < 2 or text[-1] != "'" or "'" in text[1:-1].replace("''", ""):
            raise BadDocument(f"{text[:60]!r} is not a quoted text on one line")
        return text[1:-1].replace("''", "'")
    if text[:1] in ("|", ">", "&", "*", "!", "%", "@", "`"):
        raise BadDocument(f"{text[:60]!r} is not read without a YAML library; write it as JSON")
    return _plain(text.split(" #", 1)[0].rstrip())


def _plain(text: str) -> Any:
    lowered = text.lower()
    if lowered in _WORDS:
        return _WORDS[lowered]
    if _INTEGER.match(text):
        return int(text[:4000])
    return text

"""One event and the id with which a reader resumes after it, also across gateway restarts."""

import re
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from posthouse.contracts import strict
from posthouse.errors import InvalidInput

_POSITION = re.compile(r"([0-9]{1,15})-([0-9a-f]{8}|end)", re.ASCII)


class BadPosition(InvalidInput):
    """The text is not an event id."""

    code = "bad_event_id"

    def __init__(self, given: str) -> None:
        super().__init__(
            f"invalid event id {given[:40]!r}; use the id of a received event, such as 42-0f3a9c1e"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A position in the event log of one gateway: right after the event of that number.

    The check is a checksum of the event. It detects another event with the same number, after a power cut
    or in a new log.
    """

    number: int
    #: None: not an event, but the end of a gap or of the log.
    check: int | None

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Raises:
        BadPosition: *text* is not an event id.
        """
        match = _POSITION.fullmatch(text)
        if match is None:
            raise BadPosition(text)
        return cls(number=int(match[1]), check=None if match[2] == "end" else int(match[2], 16))

    def __str__(self) -> str:
        return f"{self.number}-end" if self.check is None else f"{self.number}-{self.check:08x}"


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line of `events.jsonl`."""

    #: Line number among all lines that this gateway ever wrote, from 1.
    number: int
    kind: str
    #: The JSON object, without the newline.
    line: bytes

    @cached_property
    def position(self) -> Position:
        return Position(number=self.number, check=zlib.crc32(self.line))

    @property
    def fields(self) -> dict[str, Any]:
        """All fields, `kind` included. Decoded on each access, to keep the cached events small."""
        decoded: dict[str, Any] = strict.parse(self.line)
        return decoded


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Events that are no longer available."""

    #: Where the log continues after it.
    position: Position
    #: How many are missing; None when unknown.
    missing: int | None
    reason: str


def decode_line(number: int, line: bytes) -> Event | None:
    """The event in *line*; None for an incomplete line."""
    try:
        fields = strict.parse(line)
    except ValueError:
        return None
    if not isinstance(fields, dict) or not isinstance(kind := fields.get("kind"), str):
        return None
    return Event(number=number, kind=kind, line=line)

"""One event with the id by which a reader goes on after it, whatever happened to the gateway meanwhile."""

import re
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from posthouse.contracts import strict
from posthouse.errors import InvalidInput

_POSITION = re.compile(r"([0-9]{1,15})-([0-9a-f]{8}|end)", re.ASCII)


class BadPosition(InvalidInput):
    """That is no id of an event."""

    code = "bad_event_id"

    def __init__(self, given: str) -> None:
        super().__init__(
            f"{given[:40]!r} is no id of an event; give one that came with an event, such as 42-0f3a9c1e"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in the history of one gateway: right after the event of that number.

    The check is made of the event itself, so that another event that got the number, after a power cut
    or in a history that was begun anew, is not taken for it.
    """

    number: int
    #: None: it is of no event, but the end of a gap, or of all that there was.
    check: int | None

    @classmethod
    def parse(cls, text: str) -> "Position":
        """The position that *text* names.

        Raises:
            BadPosition: It names none.
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

    #: Its place among all lines that this gateway ever wrote, from 1.
    number: int
    kind: str
    #: The JSON object, without the newline.
    line: bytes

    @cached_property
    def position(self) -> Position:
        return Position(number=self.number, check=zlib.crc32(self.line))

    @property
    def fields(self) -> dict[str, Any]:
        """What it tells, its kind included. Decoded at every question: a thousand events lie in memory."""
        decoded: dict[str, Any] = strict.parse(self.line)
        return decoded


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Events that can't be told any more."""

    #: Where the history goes on after it.
    position: Position
    #: How many are missing; None when nobody can know.
    missing: int | None
    reason: str


def decoded(number: int, line: bytes) -> Event | None:
    """The event in *line*; None for one that broke off."""
    try:
        fields = strict.parse(line)
    except ValueError:
        return None
    if not isinstance(fields, dict) or not isinstance(kind := fields.get("kind"), str):
        return None
    return Event(number=number, kind=kind, line=line)

"""Reads the events on disk. Everything here blocks: call it in a thread.

A line's number is its position among all lines ever written. Rotated parts are not counted again: every
part but the first begins with a line that records its own number.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from posthouse.contracts.gateway_events import PART_BEGUN
from posthouse.events.event import Event, Position, decode_line
from posthouse.support import rotation, untrusted_files

#: How much is read at a time, and the most that one reader holds in memory.
_CHUNK_BYTES = 256 << 10
_COUNT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _OpenPart:
    stream: IO[bytes]
    #: The number of its first line.
    first: int


class HistoryReader:
    """The retained events after *after*, oldest first, in chunks.

    The parts stay open, so a concurrent rotation loses nothing. The creator closes it.
    """

    def __init__(self, path: Path, *, after: int) -> None:
        with contextlib.ExitStack() as opened:
            self._parts = _open_parts(path, opened)
            self._opened = opened.pop_all()
        #: The number of the oldest retained line; 1 more than the last when there is none.
        self.first = self._parts[0].first if self._parts else 1
        #: The number of the last line that was read or skipped.
        self.number = 0
        self._skip_to(after)

    def __enter__(self) -> "HistoryReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._opened.close()

    def next(self) -> list[Event]:
        """The next events; empty at the end of the log. Incomplete lines are left out."""
        found: list[Event] = []
        while self._parts and not found:
            lines = self._whole_lines()
            if not lines:
                self._parts = self._parts[1:]
                self.number = self._parts[0].first - 1 if self._parts else self.number
            for line in lines:
                self.number += 1
                event = decode_line(self.number, line.rstrip(b"\n"))
                if event is not None and event.kind != PART_BEGUN:
                    found.append(event)
        return found

    def _whole_lines(self) -> list[bytes]:
        lines = self._parts[0].stream.readlines(_CHUNK_BYTES)
        if lines and not lines[-1].endswith(b"\n"):
            del lines[-1]  # it is being written, or is incomplete: it was never published
        return lines

    def _skip_to(self, after: int) -> None:
        """Seek to the end of line *after*, or to the oldest retained line."""
        while len(self._parts) > 1 and self._parts[1].first <= after:
            self._parts = self._parts[1:]
        if self._parts:
            self.number = self._parts[0].first - 1
        while self._parts and self.number < after and self._parts[0].stream.readline():
            self.number += 1


def line_count(path: Path) -> int:
    """How many lines were ever started, rotated ones included."""
    with contextlib.ExitStack() as opened:
        parts = _open_parts(path, opened)
        return parts[-1].first - 1 + _lines_in(parts[-1].stream) if parts else 0


def locate(path: Path, position: Position) -> tuple[int, bool]:
    """The number of the oldest retained line, and whether the retained events continue from *position*."""
    with HistoryReader(path, after=position.number - 1) as past:
        if position.number < past.first:
            return past.first, position.number == past.first - 1
        found = past.next()
    is_known = bool(found) and found[0].position == position
    return past.first, is_known or position.check is None


def _open_parts(path: Path, opened: contextlib.ExitStack) -> list[_OpenPart]:
    """The parts, oldest first, with the numbers of their first lines."""
    streams = list(_streams(path, opened))
    streams.reverse()
    parts: list[_OpenPart] = []
    for stream in streams:
        number = _recorded_number(stream)
        if number is None:
            number = parts[-1].first + _lines_in(parts[-1].stream) if parts else 1
        parts.append(_OpenPart(stream, number))
    return parts


def _streams(path: Path, opened: contextlib.ExitStack) -> Iterator[IO[bytes]]:
    """Every part that is not empty, newest first, so that one renamed meanwhile is not missed."""
    seen: set[int] = set()
    for part in reversed(rotation.parts(path)):
        try:
            stream = opened.enter_context(untrusted_files.open_file(part))
        except (FileNotFoundError, untrusted_files.UnsafeFile):
            continue  # the oldest part was removed, or the file is not ours
        facts = os.fstat(stream.fileno())
        if facts.st_size and facts.st_ino not in seen:
            seen.add(facts.st_ino)
            yield stream


def _recorded_number(stream: IO[bytes]) -> int | None:
    """The number that the first line records for itself; None when it has none."""
    line = stream.readline(1024)
    stream.seek(0)
    try:
        fields = untrusted_files.decode_json(line)
        return int(fields["event_number"]) if fields["kind"] == PART_BEGUN else None
    except (ValueError, KeyError, TypeError):
        return None


def _lines_in(stream: IO[bytes]) -> int:
    """How many lines were started in *stream*."""
    count, last = 0, b"\n"
    while chunk := stream.read(_COUNT_BYTES):
        count += chunk.count(b"\n")
        last = chunk[-1:]
    stream.seek(0)
    return count + (last != b"\n")

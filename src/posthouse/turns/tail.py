"""Reads a growing file as complete lines of bounded length."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from posthouse.support import untrusted_files

#: A longer line is replaced by an `Overlong`.
MAX_LINE_BYTES = 8 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line that was too long to keep."""

    length: int


class Lines:
    """Splits bytes into lines, with at most one line in memory."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, data: bytes) -> Iterator[bytes | Overlong]:
        """The lines that *data* completes."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._add(end)
            yield self._take()
        self._add(rest)

    def last(self) -> Iterator[bytes | Overlong]:
        """The last line without a newline, if there is one."""
        if self._length:
            yield self._take()

    def _add(self, part: bytes) -> None:
        self._length += len(part)
        if self._length > self._max_bytes:
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _take(self) -> bytes | Overlong:
        line = b"".join(self._parts) if self._length <= self._max_bytes else Overlong(self._length)
        self._parts.clear()
        self._length = 0
        return line


class Tail:
    """The lines of one file from its beginning, in any number of reads."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._descriptor = untrusted_files.open_descriptor(path)
        self._offset = 0
        self._lines = Lines(max_bytes)

    def read(self) -> Iterator[bytes | Overlong]:
        """The complete lines added since the last read.

        Stops at the current size, so that a continuous writer does not block the caller.
        """
        size = os.fstat(self._descriptor).st_size
        while self._offset < size:
            chunk = os.pread(self._descriptor, min(_CHUNK_BYTES, size - self._offset), self._offset)
            if not chunk:
                return
            self._offset += len(chunk)
            yield from self._lines.feed(chunk)

    def finish(self) -> Iterator[bytes | Overlong]:
        """All remaining lines, including an incomplete last one."""
        yield from self.read()
        yield from self._lines.last()

    def sync(self) -> None:
        """Fsync the file if anything was read."""
        if self._offset:
            os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def lines_of(path: Path) -> Iterator[bytes | Overlong]:
    """All lines of *path*; none if it does not exist."""
    try:
        tail = Tail(path)
    except FileNotFoundError:
        return
    try:
        yield from tail.finish()
    finally:
        tail.close()

"""Append-only files with rotation by size into numbered siblings.

`name` is the newest part, `name.1` the one before it, and so on. Written content is never rewritten.
"""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from posthouse.support import untrusted_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How much of a rotated file is kept."""

    max_bytes: int
    backups: int


class RotatingFile:
    """Appends lines to one file, for one writer. Created 0600."""

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int,
        backups: int,
        on_rotate: Callable[[int, int], None] = lambda old, new: None,
        first_line: Callable[[], bytes] | None = None,
    ) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._backups = backups
        #: Called with the old and the new descriptor while both are open.
        self._on_rotate = on_rotate
        #: Returns the first line of every part but the first.
        self._first_line = first_line
        self._lacks_first_line = False
        #: Lines started since the file was opened, torn ones included.
        self.lines_begun = 0
        self._descriptor = _open(path)
        self._size = os.fstat(self._descriptor).st_size
        #: The last line is incomplete: its writer died, or the disk was full.
        self._is_torn = self._size > 0 and not _ends_whole(path, self._size)
        with contextlib.suppress(OSError):  # the next write retries, and raises
            self._end_torn_line()

    def write(self, line: bytes) -> None:
        """Append one whole *line*, newline included.

        Raises:
            OSError: It was not written, or only in part; the next write starts a new line.
        """
        if self._size and self._size + len(line) > self._max_bytes:
            self._rotate()
        self._end_torn_line()
        if self._lacks_first_line and self._first_line is not None:
            self._append_line(self._first_line())
            self._lacks_first_line = False
        self._append_line(line)

    def close(self) -> None:
        os.close(self._descriptor)

    def _end_torn_line(self) -> None:
        """Terminate an incomplete line."""
        if self._is_torn:
            self._append(b"\n")
            self._is_torn = False

    def _append_line(self, line: bytes) -> None:
        before = self._size
        try:
            self._append(line)
        finally:
            self.lines_begun += self._size > before

    def _append(self, content: bytes) -> None:
        written = os.write(self._descriptor, content)
        self._size += written
        if written < len(content):
            self._is_torn = self._is_torn or written > 0
            raise OSError(f"only {written} of {len(content)} bytes were written to {self._path}")

    def _rotate(self) -> None:
        """Start a new file. A crash in the middle leaves a gap in the numbers, which is harmless."""
        oldest = _numbered(self._path, self._backups) if self._backups else self._path
        oldest.unlink(missing_ok=True)
        for number in range(self._backups - 1, -1, -1):
            part = _numbered(self._path, number)
            if part.exists():
                part.rename(_numbered(self._path, number + 1))
        fresh = _open(self._path)
        self._on_rotate(self._descriptor, fresh)
        os.close(self._descriptor)
        self._descriptor, self._size, self._is_torn = fresh, 0, False
        self._lacks_first_line = True


def parts(path: Path) -> list[Path]:
    """The file at *path* and its siblings, oldest first."""
    numbers = [part.suffix[1:] for part in path.parent.glob(f"{path.name}.*")]
    older = sorted((int(number) for number in numbers if number.isdecimal()), reverse=True)
    found = [_numbered(path, number) for number in (*older, 0)]
    return [part for part in found if part.exists()]


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)


def _ends_whole(path: Path, size: int) -> bool:
    with untrusted_files.open_file(path, follow=True) as stream:
        stream.seek(size - 1)
        return stream.read(1) == b"\n"

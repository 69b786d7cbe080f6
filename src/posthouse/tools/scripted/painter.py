"""Draws inline on a terminal: finished lines scroll up, the live part below them is repainted.

One write per changed frame; an idle agent emits no bytes.
"""

import os
from collections import deque

from posthouse.tools.scripted import cells
from posthouse.tools.scripted.view import Frame

_HISTORY_LINES = 500


class Painter:
    """The terminal's content. Owns the screen between `open` and `close`."""

    def __init__(self, descriptor: int, *, alternate_screen: bool) -> None:
        self._descriptor = descriptor
        self._alternate = alternate_screen
        self._history: deque[str] = deque(maxlen=_HISTORY_LINES)
        self._pending: list[str] = []
        self._painted = Frame((), (0, 0))
        self._title = ""
        self.columns, self.rows = self._measure()

    def open(self) -> None:
        """Take over the screen and enable bracketed paste."""
        self._write(("\x1b[?1049h\x1b[H" if self._alternate else "") + "\x1b[?2004h")

    def close(self) -> None:
        """Move the cursor below everything and restore the terminal."""
        below = len(self._painted.rows) - 1 - self._painted.cursor[0]
        down = f"\x1b[{below}B" if below > 0 else ""
        self._write(f"{down}\r\n\x1b[?2004l\x1b[?25h" + ("\x1b[?1049l" if self._alternate else ""))

    def add(self, text: str, *, style: str = "") -> None:
        """Add finished *text* above the live part, from the next frame on."""
        for line in text.split("\n"):
            self._history.append(f"\x1b[{style}m{line}\x1b[0m" if style else line)
            self._pending.append(self._history[-1])

    def paint(self, frame: Frame, title: str) -> None:
        """Repaint the terminal if *frame* or *title* changed."""
        text = self._retitled(title)
        if self._pending or frame != self._painted:
            text += self._repainted(frame)
        if text:
            self._write(text)

    def resize(self) -> None:
        """Adapt to a new window size: repaint everything that fits with the next frame."""
        self.columns, self.rows = self._measure()
        self._restart(list(self._history)[-self.rows :])

    def clear(self) -> None:
        """Clear everything above the live part."""
        self._history.clear()
        self._restart([])

    def _restart(self, lines: list[str]) -> None:
        # The terminal has rewrapped the old content, so its layout is unknown.
        self._write("\x1b[H\x1b[2J")
        self._painted = Frame((), (0, 0))
        self._pending = lines

    def _repainted(self, frame: Frame) -> str:
        finished = [row for line in self._pending for row in self._rows(line)]
        self._pending = []
        up = self._painted.cursor[0]
        rows = [self._erased(row) for row in (*finished, *frame.rows)]
        back = len(frame.rows) - 1 - frame.cursor[0]
        self._painted = frame
        return "".join(
            (
                "\x1b[?25l\r",
                f"\x1b[{up}A" if up else "",
                "\r\n".join(rows),
                "\x1b[J" if cells.width(_bare(frame.rows[-1])) < self.columns else "",
                f"\x1b[{back}A" if back else "",
                "\r",
                f"\x1b[{frame.cursor[1]}C" if frame.cursor[1] else "",
                "\x1b[?25h",
            )
        )

    def _rows(self, line: str) -> list[str]:
        """*line* wrapped at the screen's width, each row with its style."""
        bare = _bare(line)
        rows = cells.wrap(bare, self.columns)
        if bare == line:
            return rows
        start = line[: line.index("m") + 1]
        return [f"{start}{row}\x1b[0m" for row in rows]

    def _erased(self, row: str) -> str:
        """*row*, with the rest of the line erased. A full row has no rest."""
        return row + "\x1b[K" if cells.width(_bare(row)) < self.columns else row

    def _retitled(self, title: str) -> str:
        if not title or title == self._title:
            return ""
        self._title = title
        return f"\x1b]2;{title}\x07"

    def _measure(self) -> tuple[int, int]:
        size = os.get_terminal_size(self._descriptor)
        # A terminal of unknown size reports 0.
        return (size.columns or 80, size.lines or 24)

    def _write(self, text: str) -> None:
        data = text.encode(errors="replace")
        while data:
            data = data[os.write(self._descriptor, data) :]


def _bare(row: str) -> str:
    """*row* without its styles."""
    parts = row.split("\x1b[")
    return parts[0] + "".join(part.partition("m")[2] for part in parts[1:])

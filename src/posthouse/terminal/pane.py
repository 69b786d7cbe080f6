"""Pane properties from tmux, in a format that stays parseable for any name or title."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posthouse.terminal.screen import Screen

_FIELDS = (
    "#{pane_id} #{window_id} #{window_index} #{pane_index} #{pane_pid} #{pane_width} #{pane_height}"
    " #{cursor_x} #{cursor_y} #{pane_in_mode} #{pane_dead}"
    " =#{pane_dead_status} =#{pane_dead_signal}"
)
#: Names and titles are free text and may contain newlines, so their lengths in bytes precede them.
FORMAT = (
    f"{_FIELDS} #{{n:session_name}} #{{n:window_name}} #{{n:pane_title}}"
    "|#{session_name}#{window_name}#{pane_title}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """One pane at one moment."""

    session_name: str
    window_id: str
    window_index: str
    window_name: str
    pane_id: str
    pane_index: int
    pid: int
    dead: bool
    #: Exit code of the program that ended; None while it runs or when a signal ended it.
    dead_status: int | None
    #: Number of the signal that ended it.
    dead_signal: int | None
    #: The pane is in copy mode.
    in_mode: bool
    title: str
    columns: int
    rows: int
    #: Column and row, from 0.
    cursor: tuple[int, int]

    @property
    def ending(self) -> str:
        """How its program ended, as a suffix to "the program ended"; empty if tmux does not know."""
        if self.dead_signal is not None:
            return f" by signal {self.dead_signal}"
        return "" if self.dead_status is None else f" with exit code {self.dead_status}"


def parse(text: str) -> list[Pane]:
    """Parse tmux's output for `FORMAT`."""
    found: list[Pane] = []
    while text:
        pane, text = split(text)
        found.append(pane)
    return found


def split(text: str) -> tuple[Pane, str]:
    """The first pane in tmux's output for `FORMAT`, and the rest of the output."""
    head, _, rest = text.encode(errors="surrogateescape").partition(b"|")
    *fields, session_length, window_length, title_length = head.decode().split(" ")
    names: list[str] = []
    for length in map(int, (session_length, window_length, title_length)):
        names.append(rest[:length].decode(errors="replace"))
        rest = rest[length:]
    return _pane(fields, *names), rest.removeprefix(b"\n").decode(errors="surrogateescape")


def screen_of(pane: Pane, capture: str) -> "Screen":
    """Combine *capture* (of `capture-pane -p -e`) with the properties of *pane*."""
    from posthouse.terminal.screen import Screen, rows_of  # listing agents needs no screen

    readable = capture.encode(errors="surrogateescape").decode(errors="replace")
    return Screen(
        rows=rows_of(readable),
        title=pane.title,
        cursor=pane.cursor,
        dead=pane.dead,
        # In a dead pane copy mode only shows the last screen (`dead_panes`).
        in_mode=pane.in_mode and not pane.dead,
    )


def _pane(fields: list[str], session_name: str, window_name: str, title: str) -> Pane:
    pane_id, window_id, window_index, pane_index, pid, columns, rows, x, y, in_mode, dead, *end = fields
    status, number = (int(word[1:]) if word[1:] else None for word in end)
    return Pane(
        session_name=session_name,
        window_id=window_id,
        window_index=window_index,
        window_name=window_name,
        pane_id=pane_id,
        pane_index=int(pane_index),
        pid=int(pid),
        dead=dead == "1",
        dead_status=status,
        dead_signal=number,
        in_mode=in_mode not in ("", "0"),
        title=title,
        columns=int(columns),
        rows=int(rows),
        cursor=(int(x), int(y)),
    )

"""What a pane shows at one moment, and what that means for somebody who wants to type."""

import re
from dataclasses import dataclass
from typing import Literal

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
#: Colours and attributes, hyperlinks, line-drawing shifts: all that a capture holds.
_ESCAPE = re.compile(r"\x1b\[[0-9;:]*m|\x1b\]8;[^\x1b]*\x1b\\|[\x0e\x0f]")
#: First numbers of the sequences that set the foreground, background and underline colour, by the
#: number that takes it back.
_COLOURS = {
    frozenset({*range(30, 40), *range(90, 98)}): 39,
    frozenset({*range(40, 50), *range(100, 108)}): 49,
    frozenset({58, 59}): 59,
}

SurfaceState = Literal["starting", "ready", "draft", "active", "blocked", "exited", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """One capture of a pane: rows with their SGR escapes, and what tmux knows beside them."""

    rows: tuple[str, ...]
    title: str
    #: Column and row, from 0.
    cursor: tuple[int, int]
    dead: bool = False
    #: A person scrolls in copy mode: tmux would eat the Enter.
    in_mode: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """What a tool's screen says. The evidence names what was seen."""

    state: SurfaceState
    evidence: str
    #: The text standing in the composer; "" when it is empty, None when there is no composer.
    composer: str | None = None
    #: Which dialog would eat a prompt.
    dialog: str | None = None


def rows_of(capture: str) -> tuple[str, ...]:
    """The rows of a `capture-pane -e`, each complete in itself.

    tmux writes an attribute once and lets it run on into the rows below; here every row repeats
    what is in force where it begins.
    """
    rows: list[str] = []
    in_force: dict[str, str] = {}
    for row in capture.split("\n"):
        rows.append("".join(in_force.values()) + row)
        for match in _SGR.finditer(row):
            _apply(in_force, match)
    return tuple(rows)


def plain(row: str) -> str:
    """*row* without its escapes."""
    return _ESCAPE.sub("", row)


def _apply(in_force: dict[str, str], sequence: re.Match[str]) -> None:
    """Note *sequence*. tmux writes one for all attributes and one for each colour."""
    first = int(re.split("[;:]", sequence[1])[0] or 0)
    if first == 0:
        in_force.clear()
    for colour, default in _COLOURS.items():
        if first in colour:
            in_force[str(default)] = sequence[0]
            if first == default:
                del in_force[str(default)]
            return
    if sequence[1] not in ("", "0"):
        in_force["attributes"] = in_force.get("attributes", "") + sequence[0]

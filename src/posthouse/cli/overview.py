"""The overview of all agents: one line each, and a table that fits the terminal. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from posthouse.cli import humanize
from posthouse.cli.output import Cell, Output, Tone
from posthouse.support import clock

#: From left to right.
_COLUMNS = ("name", "tool", "kind", "state", "since", "queue", "last")
#: The columns that a narrow terminal drops, in this order.
_DROP_ORDER = ("kind", "tool", "since", "last", "queue")
_TONES: dict[str, Tone] = {
    "ready": "good",
    "draft": "good",
    "active": "busy",
    "queued": "busy",
    "blocked": "bad",
    "limited": "bad",
    "unavailable": "bad",
    "error": "bad",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLine:
    """One agent in the overview."""

    agent_id: str
    name: str
    tool: str
    kind: str
    #: `ready`, `active`, `blocked: permission` and the like.
    state: str
    since: datetime | None = None
    #: The queue depth of its gateway; None: it has no gateway.
    queue: int | None = None
    #: The outcome of its last turn.
    last: str = "none"

    @property
    def value(self) -> dict[str, Any]:
        """The line as JSON-ready fields."""
        since = None if self.since is None else clock.iso_seconds(self.since)
        return {
            "agent_id": self.agent_id,
            "agent_name": self.name,
            "tool": self.tool,
            "transport": self.kind,
            "state": self.state,
            "since_utc": since,
            "queue_depth": self.queue,
            "last_outcome": self.last,
        }

    @property
    def text(self) -> str:
        """The line as plain text, for pipes."""
        waiting = "" if not self.queue else f", {self.queue} waiting"
        last = "" if self.last == "none" else f" (last: {self.last})"
        return f"{self.name}: {self.state}{waiting}{last}"


def screen(
    lines: Sequence[AgentLine], note: str, output: Output, *, now: datetime, columns: int, rows: int
) -> list[str]:
    """The lines of a terminal with *columns* and *rows*: the table, and *note* below it."""
    room = max(1, rows - 3)
    shown = lines if len(lines) <= room else lines[: room - 1]
    body = _table(shown, output, now, columns) if lines else ["no agents run"]
    if len(shown) < len(lines):
        body.append(f"… and {len(lines) - len(shown)} more")
    return [*body, "", output.coloured(note[:columns], "faint")]


def _table(lines: Sequence[AgentLine], output: Output, now: datetime, columns: int) -> list[str]:
    cells = [_cells(line, now) for line in lines]
    kept = list(_COLUMNS)
    for dropped in ("", *_DROP_ORDER):
        kept = [name for name in kept if name != dropped]
        if _width(kept, cells) <= columns:
            break
    else:
        cells = [_cut(row, kept, columns) for row in cells]
    return output.table_lines(kept, [[row[name] for name in kept] for row in cells])


def _cells(line: AgentLine, now: datetime) -> dict[str, Cell]:
    return {
        "name": Cell(line.name, "strong"),
        "tool": Cell(line.tool),
        "kind": Cell(line.kind),
        "state": Cell(line.state, _TONES.get(line.state.partition(":")[0].partition(" ")[0])),
        "since": Cell("-" if line.since is None else humanize.ago(line.since, now)),
        "queue": Cell("-" if line.queue is None else str(line.queue)),
        "last": Cell("-" if line.last == "none" else line.last),
    }


def _width(kept: Sequence[str], cells: Sequence[Mapping[str, Cell]]) -> int:
    widths = [max(len(name), *(len(row[name].text) for row in cells)) for name in kept]
    return sum(widths) + 2 * (len(kept) - 1)


def _cut(row: Mapping[str, Cell], kept: Sequence[str], columns: int) -> dict[str, Cell]:
    """*row* with each kept column shortened to an equal share of the terminal."""
    room = max(4, (columns - 2 * (len(kept) - 1)) // len(kept))
    return {name: cell._replace(text=_shorten(cell.text, room)) for name, cell in row.items()}


def _shorten(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"

"""Finds the composer on a page and reads its draft. One function for each composer shape."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from posthouse.tools.cells import Cell
from posthouse.tools.packs import wrapping
from posthouse.tools.packs.pack import Composer
from posthouse.tools.packs.page import ScreenPage

_EMPTY_CELL = Cell("")
#: The maximum distance of the rule above a composer.
_RULE_ROWS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposerMatch:
    """A composer on a page."""

    #: The row of its first line.
    first: int
    #: All rows above this one are conversation.
    top: int
    #: The first row below it.
    end: int
    #: The typed text, without a placeholder.
    text: str
    #: The mode in which it accepts no prompt; None if it accepts one.
    mode: str | None = None
    #: Whether the program is ready, not only its first frame drawn.
    is_up: bool = True
    #: Whether its marker alone means that a turn runs.
    looks_busy: bool = False


def find(page: ScreenPage, pack: Composer, *, is_working: bool) -> ComposerMatch | None:
    """The composer on *page*; None if something else replaces it.

    *is_working*: a turn runs, so repaints may leave the cursor anywhere.
    """
    match pack.shape:
        case "ruled":
            return _ruled(page, pack)
        case "status":
            return _above_status(page, pack)
        case "cursor":
            return _at_cursor(page, pack, is_working=is_working)


def _ruled(page: ScreenPage, pack: Composer) -> ComposerMatch | None:
    """The lowest marked row below a rule. The agent's output is indented, so it can't match."""
    rows, rule = page.rows, pack.rule
    assert rule is not None
    above = pack.rule_above or rule
    for first in range(len(rows) - 1, 0, -1):
        if not pack.marker.match(rows[first]) or not above.match(rows[first - 1]):
            continue
        end = next((row for row in range(first + 1, len(rows)) if rule.match(rows[row])), None)
        if end is None:
            return None
        return ComposerMatch(
            first=first,
            top=first - 1,
            end=end + 1,
            text=_draft_text(page, pack, first, end, columns=len(rows[end]) - pack.indent),
            mode=_mode(pack, rows[first]),
            looks_busy=bool(pack.busy_marker)
            and rows[first].startswith(pack.busy_marker)
            and bool(page.colour(first, 0)),
        )
    return None


def _above_status(page: ScreenPage, pack: Composer) -> ComposerMatch | None:
    """The lowest marked row. Past prompts have a dim marker, a menu's selection is reversed."""
    rows = page.rows
    first = next((row for row in range(len(rows) - 1, -1, -1) if _is_marked(page, pack, row)), None)
    if first is None:
        return None
    status = _status_row(rows, pack, first)
    end = status if status is not None else _blank_row(rows, first)
    return ComposerMatch(
        first=first,
        top=first,
        end=end,
        text=_draft_text(page, pack, first, end).strip(),
        mode=_mode(pack, rows[first]),
        is_up=status is not None,
    )


def _is_marked(page: ScreenPage, pack: Composer, row: int) -> bool:
    if not pack.marker.match(page.rows[row]):
        return False
    marker = page.cells(row)[0]
    return not (pack.is_bold and not marker.is_bold) and not marker.is_dim and not marker.is_reverse


def _status_row(rows: Sequence[str], pack: Composer, first: int) -> int | None:
    """The status line below a composer that starts at row *first*: last but one on a full screen."""
    if len(rows) - 2 > first and rows[-2] and not rows[-3] and not rows[-1]:
        return len(rows) - 2
    below = range(len(rows) - 1, first, -1)
    status = pack.status
    assert status is not None
    return next((row for row in below if status.match(rows[row]) and not rows[row - 1]), None)


def _blank_row(rows: Sequence[str], first: int) -> int:
    return next((row for row in range(first, len(rows)) if not rows[row]), len(rows))


def _at_cursor(page: ScreenPage, pack: Composer, *, is_working: bool) -> ComposerMatch | None:
    """The composer around the cursor; if the cursor is unreliable, the lowest one below a rule.

    Past prompts look the same, except for the rule.
    """
    rows = page.rows
    first = None if page.cursor is None else _first_row_at(rows, pack, page.cursor[1])
    is_at_cursor = first is not None
    if first is None and (page.cursor is None or is_working):
        first = _lowest_first_row(rows, pack)
    if first is None:
        return None
    mode = _mode(pack, rows[first])
    end = next((row for row in range(first + 1, len(rows)) if not _continues(rows[row], pack)), len(rows))
    is_empty = _is_placeholder(page, pack, first, is_at_cursor=is_at_cursor)
    lines = [] if is_empty or mode else [row[pack.indent :] for row in rows[first:end]]
    columns = _ruled_columns(rows, pack, first) - pack.indent - pack.margin
    return ComposerMatch(
        first=first,
        top=first,
        end=end,
        text=(_typed_marker(pack, rows[first].lstrip()) + wrapping.join_wrapped(lines, columns)).rstrip(),
        mode=mode,
        is_up=sum(map(bool, rows[:first])) > pack.rows_before_up,
    )


def _first_row_at(rows: Sequence[str], pack: Composer, row: int) -> int | None:
    first = min(row, len(rows) - 1)
    while first >= 0 and _continues(rows[first], pack):
        first -= 1
    return first if first >= 0 and _is_first(rows[first], pack) else None


def _lowest_first_row(rows: Sequence[str], pack: Composer) -> int | None:
    for row in range(len(rows) - 1, -1, -1):
        if pack.never_below and pack.never_below.match(rows[row]):
            return None
        if _is_first(rows[row], pack) and _is_ruled(rows, pack, row):
            return row
    return None


def _is_first(row: str, pack: Composer) -> bool:
    return pack.marker.match(row + " ") is not None or _mode(pack, row) is not None


def _is_ruled(rows: Sequence[str], pack: Composer, row: int) -> bool:
    return pack.rule is None or _ruled_columns(rows, pack, row) > 0


def _ruled_columns(rows: Sequence[str], pack: Composer, row: int) -> int:
    """The width of the rule a few rows above; 0 if there is none. A mode line may be in between."""
    above = rows[max(0, row - _RULE_ROWS) : row] if pack.rule else []
    return max((len(each) for each in above if pack.rule and pack.rule.match(each)), default=0)


def _is_placeholder(page: ScreenPage, pack: Composer, first: int, *, is_at_cursor: bool) -> bool:
    """Whether nothing was typed. The cursor is before a placeholder but after typed text."""
    placeholder = pack.placeholder
    if placeholder is None or not placeholder.match(page.rows[first][pack.indent :]):
        return False
    return not is_at_cursor or page.cursor == (pack.indent, first)


def _typed_marker(pack: Composer, row: str) -> str:
    return row[0] if row and row[0] in pack.spoken else ""


def _continues(row: str, pack: Composer) -> bool:
    """Whether *row* may belong to a composer that starts above it."""
    return not row[: pack.indent].strip()


def _mode(pack: Composer, row: str) -> str | None:
    return next((name for name, marker in pack.modes.items() if marker.match(row)), None)


def _draft_text(page: ScreenPage, pack: Composer, first: int, end: int, *, columns: int | None = None) -> str:
    """The typed text. *columns*: the width of the composer, if known."""
    lines = [_draft_line(page.cells(row), pack.indent) for row in range(first, end)]
    text = "\n".join(lines) if columns is None else wrapping.join_wrapped(lines, columns)
    return (_typed_marker(pack, page.rows[first]) + text).rstrip()


def _draft_line(found: Sequence[Cell], indent: int) -> str:
    """The typed text of one row. Suggestions are dim, except for the character under the cursor."""
    pairs = itertools.pairwise([*found[indent:], _EMPTY_CELL])
    typed = [
        cell for cell, following in pairs if not cell.is_dim and not (cell.is_reverse and following.is_dim)
    ]
    return "".join(cell.character for cell in typed).rstrip()

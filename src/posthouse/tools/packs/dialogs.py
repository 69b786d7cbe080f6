"""Finds the dialog that replaces the composer, and its choices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from posthouse.terminal.screen import Choice, TitleWord
from posthouse.tools.packs.pack import Dialog, NamedDialog
from posthouse.tools.packs.page import ScreenPage, flat

#: Above this, a number is more than one key.
_LAST_DIGIT = 9
#: Separates a choice from its description in a second column.
_COLUMN_GAP = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogMatch:
    """A dialog on a page."""

    name: str
    choices: tuple[Choice, ...]
    #: Its text before the choices, on one line.
    detail: str
    #: Its first row.
    top: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    choice: Choice
    row: int
    #: The column of its label.
    column: int


def find(page: ScreenPage, pack: Dialog, *, first: int, title: TitleWord | None) -> DialogMatch | None:
    """The dialog in the rows from *first* on; None if there is none."""
    rows = [row.strip(pack.frame + " ") if pack.frame else row for row in page.rows]
    first = _top(page.rows, pack, first)
    entries = _entries(rows, pack, first, page.width)
    text = flat(rows[first:])
    if not any(entry.choice.is_selected for entry in entries) and not pack.sign.search(text):
        return None
    before = entries[0].row if entries else len(rows)
    named = next(
        (named for named in pack.names if _matches_title(named, title) and named.words.search(text)), None
    )
    by_number = named is None or named.press == "number"
    return DialogMatch(
        name=named.name if named else _heading_name(rows[first:], pack) or pack.otherwise,
        choices=_with_keys([entry.choice for entry in entries], by_number=by_number),
        detail=flat(rows[first:before]),
        top=first,
    )


def half_painted(page: ScreenPage, pack: Dialog, *, first: int) -> str | None:
    """The name of a partially drawn dialog; `unknown` if it has no heading yet.

    None if there is no upper edge, or if the rows below it look like a composer. Boxes of the conversation
    have such edges too, so this applies only to packs with dialog headings.
    """
    if pack.heading is None:
        return None
    top = _top(page.rows, pack, first)
    below = next((row for row in page.rows[top:] if row), "")
    if top == first or not below or below[0] == pack.cursor:
        return None
    return _heading_name(page.rows[top:], pack) or "unknown"


def _heading_name(rows: Sequence[str], pack: Dialog) -> str | None:
    """The name in the dialog's heading."""
    first = next((row for row in rows if row and not (pack.top and pack.top.match(row))), "")
    match = pack.heading.match(first) if pack.heading else None
    return match["name"].lower() if match else None


def _top(rows: Sequence[str], pack: Dialog, first: int) -> int:
    """The first row below the dialog's upper edge; the first row of the region if the edge is not visible."""
    below = range(first, len(rows))
    if pack.outside:
        first = max((row + 1 for row in below if pack.outside.match(rows[row])), default=first)
    if pack.top is None:
        return first
    edges = [row + 1 for row in range(first, len(rows)) if pack.top.match(rows[row])]
    return edges[-1 if pack.is_lowest else 0] if edges else first


def _matches_title(named: NamedDialog, title: TitleWord | None) -> bool:
    """Whether *title* is compatible with the dialog. A missing title always is."""
    return named.asking is None or title is None or named.asking == (title == "asking")


def _entries(rows: Sequence[str], pack: Dialog, first: int, width: int) -> list[_Entry]:
    found: list[_Entry] = []
    for row in range(first, len(rows)):
        match = pack.choice.match(rows[row])
        if match:
            label, column = match["label"].split(_COLUMN_GAP)[0].rstrip(), match.start("label")
            number = match.groupdict().get("number")
            choice = Choice(
                number=int(number) if number else None, label=label, is_selected=bool(match["cursor"])
            )
            found.append(_Entry(choice=choice, row=row, column=column))
        elif found and _is_wrapped(rows, found[-1], row, width):
            last = found[-1]
            label = f"{last.choice.label} {rows[row].strip()}"
            found[-1] = replace(last, choice=replace(last.choice, label=label), row=last.row)
    return _last_list(found)


def _is_wrapped(rows: Sequence[str], entry: _Entry, row: int, width: int) -> bool:
    """Whether *row* continues the entry above, wrapped in a narrow window.

    A description has the same position, but then the row above had room for its first word.
    """
    words = rows[row].split(maxsplit=1)
    if row != entry.row + 1 or not words or _COLUMN_GAP in rows[entry.row].strip():
        return False
    is_below = len(rows[row]) - len(rows[row].lstrip()) == entry.column
    return is_below and len(rows[row - 1]) + 1 + len(words[0]) > width - 2


def _last_list(entries: list[_Entry]) -> list[_Entry]:
    """The entries from the last one numbered 1 on: text quoted in a dialog may contain a list too."""
    ones = [index for index, entry in enumerate(entries) if entry.choice.number == 1]
    return entries[ones[-1] :] if ones else entries


def _with_keys(choices: Sequence[Choice], *, by_number: bool) -> tuple[Choice, ...]:
    """*choices* with the keys that select them."""
    selected = next((index for index, choice in enumerate(choices) if choice.is_selected), None)
    return tuple(
        replace(choice, keys=_keys(choice, index, selected, by_number=by_number))
        for index, choice in enumerate(choices)
    )


def _keys(choice: Choice, index: int, selected: int | None, *, by_number: bool) -> tuple[str, ...]:
    if by_number and choice.number is not None and choice.number <= _LAST_DIGIT:
        return (str(choice.number),)
    if selected is None:
        return ()
    move = "Down" if index > selected else "Up"
    return (*[move] * abs(index - selected), "Enter")

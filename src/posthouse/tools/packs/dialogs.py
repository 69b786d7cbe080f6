"""Which dialog stands in the composer's place, and what it offers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from posthouse.terminal.screen import Choice, TitleWord
from posthouse.tools.packs.pack import Dialog, Named
from posthouse.tools.packs.page import Page, flat

#: Above this, a number is more than one key.
_LAST_DIGIT = 9
#: Between a choice and what is said about it in a second column.
_GAP = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A dialog on a page."""

    name: str
    choices: tuple[Choice, ...]
    #: What it says before its choices, on one line.
    detail: str
    #: Its first row.
    top: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    choice: Choice
    row: int
    #: Where its label begins.
    column: int


def find(page: Page, pack: Dialog, *, first: int, title: TitleWord | None) -> Asked | None:
    """The dialog in the rows from *first* on; None when nothing there asks for an answer."""
    rows = [row.strip(pack.frame + " ") if pack.frame else row for row in page.rows]
    first = _top(page.rows, pack, first)
    entries = _entries(rows, pack, first, page.width)
    text = flat(rows[first:])
    if not any(entry.choice.is_selected for entry in entries) and not pack.sign.search(text):
        return None
    before = entries[0].row if entries else len(rows)
    named = next((named for named in pack.names if _fits(named, title) and named.words.search(text)), None)
    by_number = named is None or named.press == "number"
    return Asked(
        name=named.name if named else _headed(rows[first:], pack) or pack.otherwise,
        choices=_pressed([entry.choice for entry in entries], by_number=by_number),
        detail=flat(rows[first:before]),
        top=first,
    )


def half_painted(page: Page, pack: Dialog, *, first: int) -> str | None:
    """The name of a dialog that stands unfinished below its upper edge; `unknown` where it has no heading.

    None when there is no such edge, or when what stands below it looks like a composer. Boxes of the
    conversation have such edges too, so it is told only where dialogs have headings.
    """
    if pack.heading is None:
        return None
    top = _top(page.rows, pack, first)
    below = next((row for row in page.rows[top:] if row), "")
    if top == first or not below or below[0] == pack.cursor:
        return None
    return _headed(page.rows[top:], pack) or "unknown"


def _headed(rows: Sequence[str], pack: Dialog) -> str | None:
    """The name that the dialog's first words give it."""
    first = next((row for row in rows if row and not (pack.top and pack.top.match(row))), "")
    match = pack.heading.match(first) if pack.heading else None
    return match["name"].lower() if match else None


def _top(rows: Sequence[str], pack: Dialog, first: int) -> int:
    """The first row below the dialog's upper edge; all of it where the edge is out of sight."""
    below = range(first, len(rows))
    if pack.outside:
        first = max((row + 1 for row in below if pack.outside.match(rows[row])), default=first)
    if pack.top is None:
        return first
    edges = [row + 1 for row in range(first, len(rows)) if pack.top.match(rows[row])]
    return edges[-1 if pack.is_lowest else 0] if edges else first


def _fits(named: Named, title: TitleWord | None) -> bool:
    """Whether *title* goes with the dialog. A missing one goes with all."""
    return named.asking is None or title is None or named.asking == (title == "asking")


def _entries(rows: Sequence[str], pack: Dialog, first: int, width: int) -> list[_Entry]:
    found: list[_Entry] = []
    for row in range(first, len(rows)):
        match = pack.choice.match(rows[row])
        if match:
            label, column = match["label"].split(_GAP)[0].rstrip(), match.start("label")
            number = match.groupdict().get("number")
            choice = Choice(
                number=int(number) if number else None, label=label, is_selected=bool(match["cursor"])
            )
            found.append(_Entry(choice=choice, row=row, column=column))
        elif found and _is_broken(rows, found[-1], row, width):
            last = found[-1]
            label = f"{last.choice.label} {rows[row].strip()}"
            found[-1] = replace(last, choice=replace(last.choice, label=label), row=last.row)
    return _last_list(found)


def _is_broken(rows: Sequence[str], entry: _Entry, row: int, width: int) -> bool:
    """Whether *row* goes on with the entry above because the window is too narrow for it.

    A description stands in the same place; but then the row above had room for its first word.
    """
    words = rows[row].split(maxsplit=1)
    if row != entry.row + 1 or not words or _GAP in rows[entry.row].strip():
        return False
    is_below = len(rows[row]) - len(rows[row].lstrip()) == entry.column
    return is_below and len(rows[row - 1]) + 1 + len(words[0]) > width - 2


def _last_list(entries: list[_Entry]) -> list[_Entry]:
    """The entries from the last one numbered 1 on: what a dialog quotes may hold a list of its own."""
    ones = [index for index, entry in enumerate(entries) if entry.choice.number == 1]
    return entries[ones[-1] :] if ones else entries


def _pressed(choices: Sequence[Choice], *, by_number: bool) -> tuple[Choice, ...]:
    """*choices* with the keys that choose them."""
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

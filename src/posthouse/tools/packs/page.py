"""One screen as rows of text and, on demand, of styled cells."""

from collections.abc import Sequence
from functools import cached_property

from posthouse.terminal.screen import Screen, plain
from posthouse.tools.cells import Cell, cells


class ScreenPage:
    """A screen read row by row. Styles are parsed lazily, since they cost more than text."""

    def __init__(self, screen: Screen) -> None:
        self._styled = screen.rows
        self._cells: dict[int, Sequence[Cell]] = {}
        self.cursor = screen.cursor
        #: Without escapes and trailing spaces; trailing no-break spaces are kept.
        self.rows = [plain(row).rstrip(" ") for row in screen.rows]

    @cached_property
    def is_blank(self) -> bool:
        return not any(self.rows)

    @cached_property
    def width(self) -> int:
        """The number of columns that the program seems to use."""
        return max(map(len, self.rows), default=0)

    def cells(self, row: int) -> Sequence[Cell]:
        """The characters of *row* with their styles."""
        found = self._cells.get(row)
        if found is None:
            found = self._cells[row] = cells(self._styled[row])
        return found

    def colour(self, row: int, column: int) -> str:
        """The colour of one character; "" for the default colour."""
        found = self.cells(row)
        return found[column].colour if column < len(found) else ""

    def has_colour(self, row: int) -> bool:
        return any(cell.colour for cell in self.cells(row))

    def text(self, first: int, end: int) -> str:
        """Rows *first* to *end* as one line, since a narrow window wraps between any two words."""
        return flat(self.rows[first:end])


def flat(rows: Sequence[str]) -> str:
    """*rows* as one line, with one space between words."""
    return " ".join(" ".join(rows).split())

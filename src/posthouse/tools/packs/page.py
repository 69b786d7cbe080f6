"""One screen, as rows of text and, where somebody asks, of styled cells."""

from collections.abc import Sequence
from functools import cached_property

from posthouse.terminal.screen import Screen, plain
from posthouse.tools.cells import Cell, cells


class Page:
    """A screen that is looked at row by row. Reading styles costs more than reading text, so it waits."""

    def __init__(self, screen: Screen) -> None:
        self._styled = screen.rows
        self._cells: dict[int, Sequence[Cell]] = {}
        self.cursor = screen.cursor
        #: Without escapes and without the spaces at their end; a no-break space is none of those.
        self.rows = [plain(row).rstrip(" ") for row in screen.rows]

    @cached_property
    def is_blank(self) -> bool:
        return not any(self.rows)

    @cached_property
    def width(self) -> int:
        """How many columns the program seems to paint in."""
        return max(map(len, self.rows), default=0)

    def cells(self, row: int) -> Sequence[Cell]:
        """The characters of *row* with their styles."""
        found = self._cells.get(row)
        if found is None:
            found = self._cells[row] = cells(self._styled[row])
        return found

    def colour(self, row: int, column: int) -> str:
        """The colour of one character; "" for the terminal's own."""
        found = self.cells(row)
        return found[column].colour if column < len(found) else ""

    def has_colour(self, row: int) -> bool:
        return any(cell.colour for cell in self.cells(row))

    def text(self, first: int, end: int) -> str:
        """Rows *first* to *end* on one line: a narrow window breaks them between any two words."""
        return flat(self.rows[first:end])


def flat(rows: Sequence[str]) -> str:
    """*rows* on one line, with one space between words."""
    return " ".join(" ".join(rows).split())

"""Text in terminal cells: how wide it is, and where it breaks. Pure."""

import unicodedata


def width(text: str) -> int:
    """The cells that *text* takes."""
    return len(text) if text.isascii() else sum(_width(character) for character in text)


def wrap(text: str, columns: int) -> list[str]:
    """The rows of *text* on a screen of *columns*; at least one, none wider than the screen."""
    return [row for line in text.split("\n") for row in _rows(line, columns)]


def _rows(line: str, columns: int) -> list[str]:
    rows, row, used = [], "", 0
    for character in line:
        cells = _width(character)
        if used + cells > columns:
            rows.append(row)
            row, used = "", 0
        row, used = row + character, used + cells
    return [*rows, row]


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1

"""Width and wrapping of text in terminal cells. Pure."""

import re
import unicodedata


def width(text: str) -> int:
    """The number of cells of *text*."""
    return len(text) if text.isascii() else sum(_width(character) for character in text)


def wrap(text: str, columns: int) -> list[str]:
    """The rows of *text* on a screen of *columns*; at least one, none wider than the screen."""
    return [row for line in text.split("\n") for row in _rows(line, columns)]


def wrap_words(text: str, columns: int) -> list[str]:
    """As `wrap`, but at spaces if there are any; a space at a break is dropped."""
    rows = []
    for line in text.split("\n"):
        row = ""
        for word in _words(line):
            if row and width(row) + width(word) > columns:
                rows.append(row.rstrip(" "))
                row, word = "", word.lstrip(" ")
            *full, row = _rows(row + word, columns)
            rows += full
        rows.append(row)
    return rows


def _words(line: str) -> list[str]:
    """*line* split before each space that follows a word."""
    return re.findall(r" *[^ ]+| +\Z", line)


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

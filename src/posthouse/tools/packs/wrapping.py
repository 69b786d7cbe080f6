"""Lines that a narrow window broke, put together again."""

import itertools
import unicodedata
from collections.abc import Sequence

#: A CLI may break a row this much before it must: it keeps room for a space and the cursor.
_SLACK_COLUMNS = 3


def joined(rows: Sequence[str], columns: int) -> str:
    """What was typed, from the *rows* in which it is shown, each *columns* wide.

    A row is taken for broken when the next word would not have fitted; a line that somebody ended there looks
    just the same.
    """
    text = "".join(row + _between(row, below, columns) for row, below in itertools.pairwise(rows))
    return text + "".join(rows[-1:])


def _between(row: str, below: str, columns: int) -> str:
    word = below.split(" ", 1)[0]
    if not row or not word or _width(row) + 1 + _width(word) <= columns - _SLACK_COLUMNS:
        return "\n"
    # A word that no row can hold is cut; any other is moved, and its space is not shown.
    is_cut = _width(row.rsplit(" ", 1)[-1]) + _width(word) > columns - _SLACK_COLUMNS
    return "" if is_cut else " "


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)

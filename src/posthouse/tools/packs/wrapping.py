"""Rejoins lines that a narrow window wrapped."""

import itertools
import unicodedata
from collections.abc import Sequence

#: A CLI may wrap this many columns early: it reserves room for a space and the cursor.
_SLACK_COLUMNS = 3


def join_wrapped(rows: Sequence[str], columns: int) -> str:
    """The typed text, from the *rows* that show it, each *columns* wide.

    A row counts as wrapped if the next word would not have fitted. A line that the user ended there looks
    the same.
    """
    text = "".join(row + _separator(row, below, columns) for row, below in itertools.pairwise(rows))
    return text + "".join(rows[-1:])


def _separator(row: str, below: str, columns: int) -> str:
    word = below.split(" ", 1)[0]
    if not row or not word or _width(row) + 1 + _width(word) <= columns - _SLACK_COLUMNS:
        return "\n"
    # A word longer than a row is cut; any other is moved, and its space is not displayed.
    is_cut = _width(row.rsplit(" ", 1)[-1]) + _width(word) > columns - _SLACK_COLUMNS
    return "" if is_cut else " "


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)

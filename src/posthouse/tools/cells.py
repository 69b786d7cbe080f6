"""A captured row as styled characters: CLIs mark much by dim and bold alone. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from posthouse.terminal.screen import ESCAPE


class Cell(NamedTuple):
    """One character and its style."""

    character: str
    is_bold: bool = False
    is_dim: bool = False
    is_reverse: bool = False
    #: SGR parameters of the foreground, for example `38;5;1` or `31`; "" for the default colour.
    colour: str = ""


def cells(row: str) -> list[Cell]:
    """The characters of *row*, a row of `Screen.rows`."""
    return list(_cells(row))


def _cells(row: str) -> Iterator[Cell]:
    style, position = Cell(""), 0
    for escape in ESCAPE.finditer(row):
        yield from (style._replace(character=each) for each in row[position : escape.start()])
        if escape[1] is not None:
            style = _apply_sgr(style, escape[1])
        position = escape.end()
    yield from (style._replace(character=each) for each in row[position:])


def _apply_sgr(style: Cell, numbers: str) -> Cell:
    codes = re.split("[;:]", numbers)
    while codes:
        code = codes.pop(0)
        if code in ("38", "48", "58"):
            # The parameters that follow belong to the colour; tmux emits each colour as a separate sequence.
            return style._replace(colour=numbers) if code == "38" else style
        style = _apply_code(style, int(code or 0))
    return style


def _apply_code(style: Cell, code: int) -> Cell:
    match code:
        case 0:
            return Cell("")
        case 1:
            return style._replace(is_bold=True)
        case 2:
            return style._replace(is_dim=True)
        case 7:
            return style._replace(is_reverse=True)
        case 22:
            return style._replace(is_bold=False, is_dim=False)
        case 27:
            return style._replace(is_reverse=False)
        case 39:
            return style._replace(colour="")
        case _ if 30 <= code <= 37 or 90 <= code <= 97:
            return style._replace(colour=str(code))
    return style

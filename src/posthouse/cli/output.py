"""Output of commands: text for people, JSON for programs, colour on terminals on request.

On a terminal, control and bidi characters in the text of agents, mail and errors are escaped (`\\x1b`).
A pipe or a file gets the text unchanged. JSON escapes them everywhere.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TextIO

from posthouse.support.printable import visible, visible_json

Style = Literal["plain", "json", "fancy"]
STYLES: tuple[Style, ...] = ("plain", "json", "fancy")
Tone = Literal["good", "bad", "busy", "faint", "strong"]

_SGR: dict[Tone, str] = {"good": "32", "bad": "31", "busy": "33", "faint": "2", "strong": "1"}
_GAP = "  "
#: The sequences that `coloured` adds. They are not escaped where colours are shown, in text of agents either.
_OWN_SGR = re.compile(r"(\x1b\[(?:32|31|33|2|1|0)m)")


class Cell(NamedTuple):
    """A table cell: its text, and its tone where colours are shown."""

    text: str
    tone: Tone | None = None


class Output:
    """Writes the result of one command in its output style."""

    def __init__(self, style: Style, *, colour: bool = False, stream: TextIO | None = None) -> None:
        self.style = style
        self._stream = sys.stdout if stream is None else stream
        self.has_colours = colour and style == "fancy" and self._stream.isatty()

    @property
    def is_json(self) -> bool:
        return self.style == "json"

    def result(self, value: Mapping[str, Any], text: str) -> None:
        """Show one result: *value* to programs, *text* to people."""
        self.line(encode(value) if self.is_json else text)

    def table(
        self, value: Mapping[str, Any], headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, empty: str
    ) -> None:
        """Show a listing: *value* in full to programs, aligned *rows* (or *empty*) to people."""
        if self.is_json:
            self.line(encode(value))
        elif rows:
            self.line("\n".join(self.table_lines(headings, rows)))
        else:
            self.line(empty)

    def table_lines(self, headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[str]:
        """The lines of an aligned table. No line ends in blanks."""
        titles = [Cell(heading.upper(), "faint") for heading in headings]
        shown = [titles, *([Cell(self.escaped(cell.text), cell.tone) for cell in row] for row in rows)]
        widths = [max(len(row[index].text) for row in shown) for index in range(len(titles))]
        return [self._row(row, widths) for row in shown]

    def coloured(self, text: str, tone: Tone | None) -> str:
        return f"\x1b[{_SGR[tone]}m{text}\x1b[0m" if self.has_colours and tone else text

    def line(self, text: str = "") -> None:
        """Write *text* and a newline."""
        self.write(f"{text}\n")

    def write(self, text: str) -> None:
        """Write *text* and flush."""
        self.write_raw(self.escaped(text))

    def escaped(self, text: str) -> str:
        """*text* with control and bidi characters escaped for a terminal or JSON, otherwise unchanged."""
        if self.is_json:
            return visible_json(text)
        if not self._stream.isatty():
            return text
        if not self.has_colours:
            return visible(text)
        parts = _OWN_SGR.split(text)
        return "".join(part if index % 2 else visible(part) for index, part in enumerate(parts))

    def write_raw(self, text: str) -> None:
        """Write *text* unescaped: our own terminal sequences, or text from `escaped`."""
        self._stream.write(text)
        self._stream.flush()

    def copy(self, pieces: Iterable[bytes]) -> None:
        """Copy output of another program byte for byte; on a terminal, escaped."""
        if self._stream.isatty():
            import codecs

            decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
            for piece in pieces:
                self.write_raw(visible(decoder.decode(piece)))
            self.write_raw(visible(decoder.decode(b"", final=True)))
        else:
            for piece in pieces:
                self._stream.buffer.write(piece)
            self._stream.buffer.flush()

    def warning(self, text: str) -> None:
        """Write a warning to stderr."""
        write_stderr(f"warning: {text}")

    def _row(self, row: Sequence[Cell], widths: Sequence[int]) -> str:
        cells = [
            self.coloured(cell.text, cell.tone) + " " * (width - len(cell.text))
            for cell, width in zip(row, widths, strict=True)
        ]
        return _GAP.join(cells).rstrip()


def write_stderr(text: str) -> None:
    """Write *text* and a newline to stderr at once; to a terminal without control and bidi characters."""
    sys.stderr.write(f"{visible(text) if sys.stderr.isatty() else text}\n")
    sys.stderr.flush()


def encode(value: Any) -> str:
    """JSON as the contract requires: two spaces, sorted keys. Control and bidi characters are escaped."""
    import json

    return visible_json(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False))


def fields(pairs: Sequence[tuple[str, str]]) -> str:
    """`name  value` lines, the values aligned."""
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join(f"{name:<{width}}{_GAP}{value}".rstrip() for name, value in pairs)

"""Bytes from a terminal as keys, typed text and pastes. Pure."""

import codecs
import re
from dataclasses import dataclass
from typing import Final

_PASTE_START: Final = "\x1b[200~"
_PASTE_END: Final = "\x1b[201~"
_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[@-~]|O.)")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?]*|O)?\Z")
_PRINTABLE = re.compile(r"[^\x00-\x1f\x7f]+")
_NAMES: Final = {
    "\r": "Enter",
    "\n": "Ctrl-J",
    "\t": "Tab",
    "\x7f": "Backspace",
    "\x08": "Backspace",
    "\x1b[A": "Up",
    "\x1b[B": "Down",
    "\x1b[C": "Right",
    "\x1b[D": "Left",
    "\x1bOA": "Up",
    "\x1bOB": "Down",
    "\x1bOC": "Right",
    "\x1bOD": "Left",
    "\x1b[H": "Home",
    "\x1b[1~": "Home",
    "\x1bOH": "Home",
    "\x1b[F": "End",
    "\x1b[4~": "End",
    "\x1bOF": "End",
    "\x1b[3~": "Delete",
}


@dataclass(frozen=True, slots=True)
class Typed:
    """Printable characters that arrived together."""

    text: str


@dataclass(frozen=True, slots=True)
class Pasted:
    text: str


@dataclass(frozen=True, slots=True)
class Pressed:
    """One key by its name: `Enter`, `Escape`, `Up`, `Ctrl-C`, `Alt-x` …"""

    name: str


Input = Typed | Pasted | Pressed


class KeyReader:
    """Decodes a byte stream into input, in chunks of any size."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._text = ""
        self._is_pasting = False

    @property
    def is_waiting(self) -> bool:
        """Whether a lone Escape is pending: the key itself, or the start of a sequence."""
        return not self._is_pasting and self._text.startswith("\x1b")

    def feed(self, data: bytes) -> list[Input]:
        """The input that *data* completes."""
        self._text += self._decoder.decode(data)
        found: list[Input] = []
        while (item := self._next()) is not None:
            found.append(item)
        return found

    def flush(self) -> list[Input]:
        """End of the timeout: a lone Escape was the key."""
        if not self.is_waiting:
            return []
        self._text = self._text[1:]
        return [Pressed("Escape"), *self.feed(b"")]

    def _next(self) -> Input | None:
        if self._text.startswith(_PASTE_START) and not self._is_pasting:
            self._text, self._is_pasting = self._text.removeprefix(_PASTE_START), True
        if self._is_pasting:
            return self._paste()
        if not self._text:
            return None
        if match := _PRINTABLE.match(self._text):
            return Typed(self._take(match.end()))
        if self._text[0] != "\x1b":
            return Pressed(_key(self._take(1)))
        return self._escape()

    def _paste(self) -> Input | None:
        body, end, rest = self._text.partition(_PASTE_END)
        if not end:
            return None
        self._text, self._is_pasting = rest, False
        return Pasted(body.replace("\r\n", "\n").replace("\r", "\n"))

    def _escape(self) -> Input | None:
        if _UNFINISHED.match(self._text):
            return None
        if match := _SEQUENCE.match(self._text):
            return Pressed(_key(self._take(match.end())))
        return Pressed(f"Alt-{_key(self._take(2)[1])}")

    def _take(self, count: int) -> str:
        taken, self._text = self._text[:count], self._text[count:]
        return taken


def _key(characters: str) -> str:
    if characters in _NAMES:
        return _NAMES[characters]
    if len(characters) == 1 and ord(characters) < 0x20:
        return f"Ctrl-{chr(ord(characters) + 0x40)}"
    return characters if characters.isprintable() else "Unknown"

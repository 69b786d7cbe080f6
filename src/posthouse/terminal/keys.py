"""The `<[key-name]>` grammar of raw input."""

import re
from dataclasses import dataclass

from posthouse.errors import InvalidInput

#: These are also tmux's names.
NAMES = ("Enter", "Escape", "Up", "Down", "Left", "Right", "Tab", "BSpace", "C-c", "C-d", "C-z")

_TOKEN = re.compile(r"<\[([^\s<>\[\]]+)\]>")


@dataclass(frozen=True, slots=True)
class LiteralText:
    """Text to be typed as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Key:
    """One press of a named key."""

    name: str


def parse(sequence: str, *, literal: bool = False) -> tuple[LiteralText | Key, ...]:
    """The parts of *sequence* in order. With *literal*, all of it is text.

    Raises:
        InvalidInput: `unknown_key`: a token names none of `NAMES`.
    """
    if literal:
        return (LiteralText(sequence),) if sequence else ()
    parts: list[LiteralText | Key] = []
    # Splitting on a group yields text and names alternately.
    for index, piece in enumerate(_TOKEN.split(sequence)):
        if index % 2:
            parts.append(_key(piece))
        elif piece:
            parts.append(LiteralText(piece))
    return tuple(parts)


def _key(name: str) -> Key:
    if name not in NAMES:
        message = f"<[{name}]> is not a key; there is {', '.join(NAMES)}"
        raise InvalidInput(message, code="unknown_key")
    return Key(name)

"""The `<[key-name]>` grammar of raw input."""

import re
from dataclasses import dataclass

from posthouse.errors import InvalidInput

#: What tmux calls them, too.
NAMES = ("Enter", "Escape", "Up", "Down", "Left", "Right", "Tab", "BSpace", "C-c", "C-d", "C-z")

_TOKEN = re.compile(r"<\[([^\s<>\[\]]+)\]>")


class UnknownKey(InvalidInput):
    """A well-formed token names no key; nothing of the sequence was sent."""

    code = "unknown_key"

    def __init__(self, name: str) -> None:
        super().__init__(f"<[{name}]> is not a key; there is {', '.join(NAMES)}")
        self.name = name


@dataclass(frozen=True, slots=True)
class Literal_:
    """Text to be typed as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Key:
    """One press of a named key."""

    name: str


def parse(sequence: str, *, literal: bool = False) -> tuple[Literal_ | Key, ...]:
    """What *sequence* asks to be typed, in order. With *literal*, all of it is text.

    Raises:
        UnknownKey: One token is none of `NAMES`.
    """
    if literal:
        return (Literal_(sequence),) if sequence else ()
    parts: list[Literal_ | Key] = []
    # Splitting on a group gives text and names in turn.
    for index, piece in enumerate(_TOKEN.split(sequence)):
        if index % 2:
            parts.append(_key(piece))
        elif piece:
            parts.append(Literal_(piece))
    return tuple(parts)


def _key(name: str) -> Key:
    if name not in NAMES:
        raise UnknownKey(name)
    return Key(name)

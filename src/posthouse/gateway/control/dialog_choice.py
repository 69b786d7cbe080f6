"""Which entry of a dialog is meant, and what to press for it. Pure."""

from collections.abc import Sequence

from posthouse.errors import Conflict, InvalidInput
from posthouse.terminal import keys
from posthouse.terminal.keys import Key, Literal_
from posthouse.terminal.screen import Choice

_MAX_TOLD = 20


class UnknownChoice(InvalidInput):
    """The dialog offers no such choice, or more than one; the message lists what it offers."""

    code = "unknown_choice"

    def __init__(self, asked: int | str, offered: Sequence[Choice]) -> None:
        told = "; ".join(told_as(one) for one in offered[:_MAX_TOLD]) or "nothing that could be read"
        super().__init__(f"{asked!r} is not one choice of this dialog, which offers: {told}")


class NoKeys(Conflict):
    """How that choice is made can't be read from the screen."""

    code = "no_keys"


def find(asked: int | str, offered: Sequence[Choice]) -> Choice:
    """The choice with that number, that label, or the one label that begins so, whatever its case.

    Raises:
        UnknownChoice: There is none, or more than one.
    """
    word = str(asked).strip()
    if word.isdecimal():
        found = [one for one in offered if one.number == int(word)]
    else:
        labels = [(one.label.casefold(), one) for one in offered]
        found = [one for label, one in labels if label == word.casefold()]
        found = found or [one for label, one in labels if label.startswith(word.casefold())]
    if len(found) != 1:
        raise UnknownChoice(asked, offered)
    return found[0]


def presses(choice: Choice) -> tuple[Literal_ | Key, ...]:
    """What makes *choice*.

    Raises:
        NoKeys: Nothing tells.
    """
    if not choice.keys:
        raise NoKeys(f"nothing tells which keys choose {told_as(choice)}; answer in the terminal")
    return tuple(Key(name) if name in keys.NAMES else Literal_(name) for name in choice.keys)


def told_as(choice: Choice) -> str:
    """`2. No`, or the label alone where nothing is numbered."""
    return choice.label if choice.number is None else f"{choice.number}. {choice.label}"

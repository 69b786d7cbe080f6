"""Matches a requested choice to a dialog entry, and returns the keys that select it. Pure."""

from collections.abc import Sequence

from posthouse.errors import Conflict, InvalidInput
from posthouse.terminal import keys
from posthouse.terminal.keys import Key, LiteralText
from posthouse.terminal.screen import Choice

_MAX_LISTED = 20


def find(wanted: int | str, offered: Sequence[Choice]) -> Choice:
    """The choice with that number, label or unique label prefix; case is ignored.

    Raises:
        InvalidInput: There is none, or more than one (`unknown_choice`).
    """
    word = str(wanted).strip()
    if word.isdecimal():
        found = [one for one in offered if one.number == int(word)]
    else:
        labels = [(one.label.casefold(), one) for one in offered]
        found = [one for label, one in labels if label == word.casefold()]
        found = found or [one for label, one in labels if label.startswith(word.casefold())]
    if len(found) != 1:
        raise _unknown_choice(wanted, offered)
    return found[0]


def keys_for(choice: Choice) -> tuple[LiteralText | Key, ...]:
    """The keys that select *choice*.

    Raises:
        Conflict: The screen does not show its keys (`no_keys`).
    """
    if not choice.keys:
        raise Conflict(
            f"the keys for choice {format_choice(choice)} are unknown; answer in the terminal", code="no_keys"
        )
    return tuple(Key(name) if name in keys.NAMES else LiteralText(name) for name in choice.keys)


def format_choice(choice: Choice) -> str:
    """`2. No`, or the label alone for an unnumbered choice."""
    return choice.label if choice.number is None else f"{choice.number}. {choice.label}"


def _unknown_choice(wanted: int | str, offered: Sequence[Choice]) -> InvalidInput:
    labels = "; ".join(format_choice(one) for one in offered[:_MAX_LISTED]) or "no readable choices"
    return InvalidInput(
        f"{wanted!r} does not match exactly one choice of this dialog, which offers: {labels}",
        code="unknown_choice",
    )

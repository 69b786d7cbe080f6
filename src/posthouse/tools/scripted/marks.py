"""Reads the rows above the scripted agent's composer: last outcome and queued prompts. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from posthouse.terminal.screen import Choice, ErrorKind, Outcome
from posthouse.tools.scripted.appearance import Appearance

#: The colour of errors only.
_YELLOW = "\x1b[33m"
_LIMIT = re.compile(r"Usage limit reached(?: · resets (\S+))?")
_KINDS: dict[str, ErrorKind] = {"Overloaded": "overloaded", "Prompt is too long": "context_full"}
_ENTRY = re.compile(r"[\s│]*(?P<mark>[❯›●])? (?P<number>\d)\. (?P<label>\S.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMarks:
    """The outcome of the last turn, and whether prompts are queued."""

    outcome: Outcome = "none"
    error_kind: ErrorKind | None = None
    is_limited: bool = False
    #: When the limit ends, as displayed.
    resets: str | None = None
    is_queued: bool = False


def find_above(
    appearance: Appearance, styled: Sequence[str], plain: Sequence[str], composer_row: int
) -> TurnMarks:
    """The marks between the last submitted prompt and the composer."""
    past = [row for row in range(composer_row) if plain[row].startswith(appearance.past_marker)]
    region = range(past[-1] + 1 if past else 0, composer_row)
    is_queued = any(plain[row].startswith(f"  {appearance.past_marker}") for row in region)
    if not past:
        return TurnMarks(is_queued=is_queued)
    # The colour extends into the empty rows below.
    if (error_row := next((row for row in region if _YELLOW in styled[row]), None)) is not None:
        return _failed(" ".join(plain[error_row:composer_row]))
    text = "\n".join(plain[row] for row in region)
    if appearance.interrupted.strip() in text:
        return TurnMarks(outcome="interrupted")
    answered = any(plain[row].startswith(appearance.answer_marker) for row in region)
    return TurnMarks(outcome="success" if answered and not is_queued else "none", is_queued=is_queued)


def choices(plain: Sequence[str], first: int) -> tuple[Choice, ...]:
    """The numbered entries from row *first* on, each chosen by its number."""
    found = [match for row in plain[first:] if (match := _ENTRY.match(row)) is not None]
    return tuple(
        Choice(
            number=int(match["number"]),
            label=match["label"].strip(" │"),
            is_selected=match["mark"] is not None,
            keys=(match["number"],),
        )
        for match in found
    )


def _failed(text: str) -> TurnMarks:
    if (limit := _LIMIT.search(text)) is not None:
        return TurnMarks(outcome="error", error_kind="api_error", is_limited=True, resets=limit[1])
    kinds = [kind for words, kind in _KINDS.items() if words in text]
    return TurnMarks(outcome="error", error_kind=kinds[0] if kinds else "api_error")

"""How one attempt to tell a target went, and when the next one comes. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

#: Seconds before each further attempt; after the last one it is given up. Twelve minutes in all.
DELAYS: Sequence[float] = (1, 3, 10, 30, 60, 120, 240, 240)
_MAX_DETAIL = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One attempt."""

    is_delivered: bool
    detail: str


def delivered(detail: str) -> Outcome:
    return Outcome(is_delivered=True, detail=_short(detail))


def refused(detail: str) -> Outcome:
    return Outcome(is_delivered=False, detail=_short(detail))


def delay_after(attempts: int) -> float | None:
    """How long to wait after so many attempts; None: that was the last."""
    return DELAYS[attempts - 1] if attempts <= len(DELAYS) else None


def _short(detail: str) -> str:
    printable = "".join(character if character.isprintable() else " " for character in detail).strip()
    return printable if len(printable) <= _MAX_DETAIL else f"…{printable[-_MAX_DETAIL:]}"

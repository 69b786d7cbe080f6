"""The outcome of one delivery attempt, and the backoff before the next. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

#: Backoff in seconds; after the last attempt the notice is given up. Twelve minutes in total.
DELAYS: Sequence[float] = (1, 3, 10, 30, 60, 120, 240, 240)
_MAX_DETAIL = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryOutcome:
    """The outcome of one attempt."""

    is_delivered: bool
    detail: str


def delivered(detail: str) -> DeliveryOutcome:
    return DeliveryOutcome(is_delivered=True, detail=_short(detail))


def refused(detail: str) -> DeliveryOutcome:
    return DeliveryOutcome(is_delivered=False, detail=_short(detail))


def delay_after(attempts: int) -> float | None:
    """Seconds to wait after so many attempts; None after the last."""
    return DELAYS[attempts - 1] if attempts <= len(DELAYS) else None


def _short(detail: str) -> str:
    printable = "".join(character if character.isprintable() else " " for character in detail).strip()
    return printable if len(printable) <= _MAX_DETAIL else f"…{printable[-_MAX_DETAIL:]}"

"""Counts contradictions of screen and hooks: many indicate that a CLI's screens have changed. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from posthouse.tracking.inference import Inference

#: This many contradictions within an hour raise an alert.
_ALERT_COUNT = 3
_WITHIN = timedelta(hours=1)
_MAX_TIMES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Contradictions that lasted longer than the stability window."""

    #: All of them, since the gateway started.
    count: int = 0
    #: Times of the newest.
    times: tuple[datetime, ...] = ()
    #: The message of the last one.
    message: str = ""
    #: When the last alert was raised; None: never.
    alerted_at: datetime | None = None

    def updated(self, before: Inference, now: Inference, *, at: datetime) -> "Drift":
        """The drift after *before* changed to *now*. Alerts at most once an hour."""
        if not is_lasting(now) or is_lasting(before):
            return self
        assert now.disagreement is not None
        times = (*self.times, at)[-_MAX_TIMES:]
        updated = replace(self, count=self.count + 1, times=times, message=now.disagreement.message)
        recent = [moment for moment in times if at - moment < _WITHIN]
        is_old = self.alerted_at is None or at - self.alerted_at >= _WITHIN
        return replace(updated, alerted_at=at) if len(recent) >= _ALERT_COUNT and is_old else updated


def is_lasting(inferred: Inference) -> bool:
    """Whether a contradiction made the state unknown."""
    return inferred.state == "unknown" and inferred.disagreement is not None

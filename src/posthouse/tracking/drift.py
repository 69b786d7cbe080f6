"""Whether screen and hooks keep contradicting each other: a sign that a CLI's screens have changed. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from posthouse.tracking.inference import Verdict

#: So many contradictions within an hour are no accident.
_ALARMING = 3
_WITHIN = timedelta(hours=1)
_KEPT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Contradictions that lasted longer than the stability window."""

    #: All of them, since the gateway started.
    count: int = 0
    #: When the newest were noticed.
    times: tuple[datetime, ...] = ()
    #: The last one's words.
    words: str = ""
    #: When the alarm was last raised; None: never.
    alarmed_at: datetime | None = None

    def after(self, before: Verdict, now: Verdict, *, at: datetime) -> "Drift":
        """What it is when *now* follows *before*. An alarm is raised once an hour at most."""
        if not is_lasting(now) or is_lasting(before):
            return self
        assert now.disagreement is not None
        times = (*self.times, at)[-_KEPT:]
        noted = replace(self, count=self.count + 1, times=times, words=now.disagreement.words)
        recent = [moment for moment in times if at - moment < _WITHIN]
        is_old = self.alarmed_at is None or at - self.alarmed_at >= _WITHIN
        return replace(noted, alarmed_at=at) if len(recent) >= _ALARMING and is_old else noted


def is_lasting(verdict: Verdict) -> bool:
    """Whether it is a contradiction that made the state unknown."""
    return verdict.state == "unknown" and verdict.disagreement is not None

"""What each witness says of a TUI, and since when. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from posthouse.support import clock
from posthouse.tracking.observation import Sight

Source = Literal["process", "title", "screen", "hook", "transcript"]

AT_REST = frozenset({"ready", "draft"})
#: No turn runs, whether or not a prompt would be of use.
OVER = AT_REST | {"limited"}
AT_WORK = frozenset({"active", "queued"})
_PROCESS = {
    "screen": "running",
    "program_ended": "ended",
    "no_session": "gone",
    "no_answer": "no answer",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One witness's word."""

    says: str
    #: Since when it says so; a hook and a transcript name the time themselves.
    since: datetime
    detail: str = ""


#: The words of those who have said something.
Evidences = Mapping[Source, Evidence]


def gather(sight: Sight, before: Evidences, *, at: datetime) -> Evidences:
    """Every witness's word after *sight*; who repeats itself keeps its time."""
    found: dict[Source, Evidence] = {
        "process": Evidence(says=_PROCESS[sight.reach], since=at, detail=sight.detail)
    }
    if (surface := sight.surface) is not None:
        found["screen"] = Evidence(says=surface.state, since=at, detail="; ".join(surface.evidence))
        if surface.title is not None:
            found["title"] = Evidence(says=surface.title, since=at)
    if sight.ended is not None:
        found["transcript"] = Evidence(says=sight.ended.outcome, since=at)
    if sight.running_since_utc is not None:
        found["transcript"] = Evidence(says="running", since=_time(sight.running_since_utc, at))
    told = {source: _aged(one, before.get(source)) for source, one in found.items()}
    if sight.heard is not None:
        told["hook"] = Evidence(says=sight.heard.meaning, since=sight.heard.at)
    return told


def is_sole(evidence: Evidences) -> bool:
    """Whether nobody but the screen has ever told of a turn."""
    return "hook" not in evidence and "transcript" not in evidence


def _aged(now: Evidence, before: Evidence | None) -> Evidence:
    if before is None or before.says != now.says:
        return now
    return Evidence(says=now.says, since=before.since, detail=now.detail)


def _time(text: str, otherwise: datetime) -> datetime:
    try:
        return clock.parse(text)
    except ValueError:  # a transcript is the CLI's own, and may change its form
        return otherwise

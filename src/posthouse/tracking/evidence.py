"""What each source reports about a TUI, and since when. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from posthouse.support import clock
from posthouse.tracking.observation import Observation

Source = Literal["process", "title", "screen", "hook", "transcript"]

IDLE_STATES = frozenset({"ready", "draft"})
#: No turn runs, whether or not a prompt is useful.
FINISHED_STATES = IDLE_STATES | {"limited"}
WORKING_STATES = frozenset({"active", "queued"})
_PROCESS = {
    "screen": "running",
    "program_ended": "ended",
    "no_session": "gone",
    "no_answer": "no answer",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The report of one source."""

    value: str
    #: Since when the value is the same; hooks and transcripts contain the time.
    since: datetime
    detail: str = ""


#: Only sources that have reported.
EvidenceBySource = Mapping[Source, Evidence]


def collect_evidence(observation: Observation, before: EvidenceBySource, *, at: datetime) -> EvidenceBySource:
    """The evidence after *observation*. An unchanged value keeps its time."""
    found: dict[Source, Evidence] = {
        "process": Evidence(value=_PROCESS[observation.reach], since=at, detail=observation.detail)
    }
    if (surface := observation.surface) is not None:
        found["screen"] = Evidence(value=surface.state, since=at, detail="; ".join(surface.evidence))
        if surface.title is not None:
            found["title"] = Evidence(value=surface.title, since=at)
    if observation.ended_turn is not None:
        found["transcript"] = Evidence(value=observation.ended_turn.outcome, since=at)
    if observation.running_since_utc is not None:
        found["transcript"] = Evidence(value="running", since=_time(observation.running_since_utc, at))
    evidence = {source: _aged(one, before.get(source)) for source, one in found.items()}
    if observation.hook_report is not None:
        evidence["hook"] = Evidence(value=observation.hook_report.meaning, since=observation.hook_report.at)
    return evidence


def is_screen_only(evidence: EvidenceBySource) -> bool:
    """Whether the screen is the only source that has ever shown a turn."""
    return "hook" not in evidence and "transcript" not in evidence


def _aged(now: Evidence, before: Evidence | None) -> Evidence:
    if before is None or before.value != now.value:
        return now
    return Evidence(value=now.value, since=before.since, detail=now.detail)


def _time(text: str, otherwise: datetime) -> datetime:
    try:
        return clock.parse(text)
    except ValueError:  # the CLI may change its transcript's format
        return otherwise

"""Detects contradictions between a TUI's hooks and its screen. Pure.

Missing reports that are normal for a CLI are no contradiction: no hook after Escape, an idle title under a
dialog.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from posthouse.tools.tool import EvidenceRules
from posthouse.tracking.evidence import IDLE_STATES, WORKING_STATES, EvidenceBySource, Source
from posthouse.tracking.observation import Observation

_LATE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceInput:
    """The input of `infer`."""

    observation: Observation
    evidence: EvidenceBySource
    #: When the screen last showed a dialog.
    blocked_at: datetime | None
    #: Since when the text of the screen is the same.
    text_since: datetime
    #: A prompt was noted and its turn has not ended yet.
    is_prompt_noted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Two sources that contradict each other."""

    between: tuple[Source, Source]
    message: str
    #: Since when it counts: both sources reported, and the grace period of a late hook is over.
    since: datetime


def find_disagreement(inputs: InferenceInput, rules: EvidenceRules) -> Disagreement | None:
    """The current contradiction, or None."""
    hook, screen = inputs.evidence.get("hook"), inputs.evidence.get("screen")
    if hook is None or screen is None:
        return None
    message = None
    if screen.value in WORKING_STATES and hook.value in ("ended", "failed"):
        message = _hook_ended_while_working(inputs)
    elif screen.value in IDLE_STATES and _is_running(inputs):
        message = _hook_running_while_idle(inputs, rules)
    if message is None:
        return None
    # A hook is a process that starts late on a busy machine, so a missing report gets a grace period.
    grace = _LATE if screen.value in IDLE_STATES else timedelta()
    since = max(hook.since, screen.since) + grace
    return Disagreement(between=("hook", "screen"), message=message, since=since)


def _hook_ended_while_working(inputs: InferenceInput) -> str | None:
    """The message if a hook reports the end of the turn and the screen still shows it; else None."""
    hook, screen = inputs.evidence["hook"], inputs.evidence["screen"]
    transcript = inputs.evidence.get("transcript")
    # A turn that began after the report is another one; the transcript may also show such a turn.
    is_another = _is_running(inputs) and transcript is not None and transcript.since >= hook.since
    if screen.since >= hook.since or is_another:
        return None
    return "a hook reports the end of the turn, but the screen shows it running"


def _hook_running_while_idle(inputs: InferenceInput, rules: EvidenceRules) -> str | None:
    """The message if hook and transcript show a turn and the screen is idle; else None."""
    hook = inputs.evidence["hook"]
    was_asked = inputs.blocked_at is not None and inputs.blocked_at >= hook.since
    if hook.value == "asking" and not was_asked:
        return "a hook reports that a person is asked, but the screen shows no dialog"
    if hook.value == "submitted" and not rules.unreported_outcomes:
        return "a hook reports a running turn, but the screen shows none"
    return None


def _is_running(inputs: InferenceInput) -> bool:
    """Whether the transcript shows a prompt without an end."""
    transcript = inputs.evidence.get("transcript")
    return transcript is not None and transcript.value == "running"

"""The turn that runs in a TUI and the result of the last one, in the terms of the contract. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.support import clock
from posthouse.terminal.screen import ErrorKind, Outcome
from posthouse.tools.tool import EvidenceRules
from posthouse.tracking.evidence import FINISHED_STATES, WORKING_STATES, EvidenceBySource, is_screen_only
from posthouse.tracking.inference import Inference
from posthouse.tracking.observation import EndedTurn, Observation

Phase = Literal["ready", "active", "unknown"]
Result = Literal["success", "interrupted", "known_failure", "none"]
Source = Literal["explicit_input", "surface_inference", "none"]

_RESULTS: Mapping[str, Result] = {
    "success": "success",
    "interrupted": "interrupted",
    "error": "known_failure",
}
OUTCOMES: Mapping[Result, Outcome] = {
    "success": "success",
    "interrupted": "interrupted",
    "known_failure": "error",
    "none": "none",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTurn:
    """The proved result of the last turn."""

    result: Result = "none"
    source: Source = "none"
    at: datetime | None = None
    #: The kind of error, if known.
    error_kind: ErrorKind | None = None
    #: The turn was a failed compaction.
    lost_context: bool = False

    @property
    def in_contract(self) -> "LastTurn":
        """The result for the contract: a failed compaction degrades the chat and is not a failure."""
        return LastTurn() if self.lost_context else self


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedTurn:
    """The running turn and the result of the last one."""

    phase: Phase = "unknown"
    last: LastTurn = LastTurn()
    #: The source of the turn whose end is awaited; `none`: no turn is awaited.
    authority: Source = "none"
    #: The screen has shown that turn.
    was_seen: bool = False
    #: When it began, if known.
    began_at: datetime | None = None
    #: When the prompt was noted.
    noted_at: datetime | None = None
    #: Since when the TUI is idle while the end is awaited.
    idle_since: datetime | None = None
    #: The newest ended turn that is not the awaited one.
    previous_end: EndedTurn | None = None


def noted(turn: TrackedTurn, observation: Observation | None, *, at: datetime) -> TrackedTurn:
    """The turn after a prompt was noted. A turn that ended before is not its end."""
    ended = None if observation is None else observation.ended_turn
    return TrackedTurn(
        phase="active",
        authority="explicit_input",
        began_at=at,
        noted_at=at,
        previous_end=ended or turn.previous_end,
    )


def withdrawn(turn: TrackedTurn) -> TrackedTurn:
    """The turn after the noted prompt was not typed."""
    return replace(turn, authority="none", phase="unknown", noted_at=None, began_at=None)


def turn_after(
    turn: TrackedTurn,
    observation: Observation,
    inferred: Inference,
    evidence: EvidenceBySource,
    *,
    at: datetime,
    timings: TrackingTimings,
    rules: EvidenceRules,
) -> TrackedTurn:
    """The turn after *observation*, from which *inferred* was inferred."""
    if observation.surface is None:
        # The turn's end can no longer be observed.
        return replace(turn, phase="unknown", authority="none", was_seen=False)
    is_working = inferred.state in WORKING_STATES or (
        inferred.state == "stale" and observation.surface.is_working
    )
    if is_working:
        return _working(turn, observation, at=at)
    if inferred.is_recovered:
        return TrackedTurn(phase="ready", last=turn.last, previous_end=observation.ended_turn)
    if inferred.state not in FINISHED_STATES:
        return replace(turn, phase="unknown", was_seen=turn.was_seen or inferred.state == "blocked")
    if turn.authority == "none":
        return _idle(turn, observation, at=at)
    idle = replace(turn, idle_since=turn.idle_since or at)
    proof = _proof(idle, observation, evidence, at, timings, rules)
    if proof is not None:
        return TrackedTurn(
            phase="ready",
            last=_ending(proof, turn.authority, observation, at),
            previous_end=observation.ended_turn,
        )
    return _unproved(idle, observation, at=at, timings=timings)


def _idle(turn: TrackedTurn, observation: Observation, *, at: datetime) -> TrackedTurn:
    """No turn was awaited. Only the transcript shows a turn that ran between two observations."""
    last = turn.last
    is_later = turn.previous_end is None or (
        observation.ended_turn is not None
        and observation.ended_turn.submitted_at_utc > turn.previous_end.submitted_at_utc
    )
    if turn.phase == "ready" and observation.ended_turn is not None and is_later:
        if _is_same_turn(turn.last, observation.ended_turn):
            # Its end was seen before the transcript had it; take only the outcome from the transcript.
            last = _ending(observation.ended_turn.outcome, last.source, observation, last.at or at)
        else:
            last = _ending(observation.ended_turn.outcome, "surface_inference", observation, at)
    return replace(
        turn, phase="ready", last=last, previous_end=observation.ended_turn, idle_since=turn.idle_since or at
    )


def _is_same_turn(last: LastTurn, ended: EndedTurn) -> bool:
    """Whether *ended* is the last turn: it began before that turn's end was seen."""
    try:
        return last.at is not None and clock.parse(ended.submitted_at_utc) <= last.at
    except ValueError:  # the CLI may change its time format
        return False


def _ending(proof: Outcome, source: Source, observation: Observation, at: datetime) -> LastTurn:
    ending = LastTurn(result=_RESULTS[proof], source=source, at=at)
    if proof != "error" or observation.surface is None:
        return ending
    lost_context = observation.surface.chat_context == "degraded"
    return replace(ending, error_kind=observation.surface.error_kind, lost_context=lost_context)


def _working(turn: TrackedTurn, observation: Observation, *, at: datetime) -> TrackedTurn:
    is_same = turn.phase != "ready" and turn.authority != "none"
    shown = observation.surface is not None and observation.surface.is_working
    return replace(
        turn,
        phase="active",
        last=LastTurn(),
        authority=turn.authority if is_same else "surface_inference",
        began_at=turn.began_at if is_same and turn.began_at is not None else at,
        was_seen=(is_same and turn.was_seen) or shown,
        idle_since=None,
    )


def _proof(
    turn: TrackedTurn,
    observation: Observation,
    evidence: EvidenceBySource,
    at: datetime,
    timings: TrackingTimings,
    rules: EvidenceRules,
) -> Outcome | None:
    """How the awaited turn ended, from the most reliable source; None while no source shows it."""
    if observation.ended_turn is not None and observation.ended_turn != turn.previous_end:
        return observation.ended_turn.outcome
    hook = evidence.get("hook")
    if hook is not None and turn.began_at is not None and hook.since >= turn.began_at:
        if hook.value == "failed":
            return "error"
        if hook.value == "ended" and rules.end_implies_success and "hook" in rules.ends:
            return "success"
    if not turn.was_seen or observation.surface is None:
        return None
    if observation.surface.outcome in ("interrupted", "error"):
        return observation.surface.outcome
    # The screen is the only source: a long enough idle period counts as success.
    assert turn.idle_since is not None
    is_over = at - turn.idle_since >= timedelta(seconds=timings.completion_stability_seconds)
    return "success" if is_over and is_screen_only(evidence) else None


def _unproved(
    turn: TrackedTurn, observation: Observation, *, at: datetime, timings: TrackingTimings
) -> TrackedTurn:
    if turn.was_seen:
        # Ended, but not proved how; another source may still report it.
        return replace(turn, phase="ready")
    recovery = timedelta(seconds=timings.final_stable_active_recovery_seconds)
    if turn.noted_at is not None and at - turn.noted_at < recovery:
        return replace(turn, phase="active")
    return TrackedTurn(phase="ready", last=turn.last, previous_end=observation.ended_turn)

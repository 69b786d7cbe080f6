"""The turn that runs in a TUI and how the one before ended, in the contract's words. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.support import clock
from posthouse.terminal.screen import ErrorKind, Outcome
from posthouse.tools.tool import Testimony
from posthouse.tracking.evidence import AT_WORK, OVER, Evidences, is_sole
from posthouse.tracking.inference import Verdict
from posthouse.tracking.observation import Ended, Sight

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
    """How the last turn ended, if that was proved."""

    result: Result = "none"
    source: Source = "none"
    at: datetime | None = None
    #: Which error, where something tells.
    error_kind: ErrorKind | None = None
    #: It was a compaction, and failed.
    lost_context: bool = False

    @property
    def in_contract(self) -> "LastTurn":
        """The same in the contract's words: a failed compaction degrades the chat, and is no failure."""
        return LastTurn() if self.lost_context else self


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBelief:
    """What is believed of the turn that runs, and of the one before."""

    phase: Phase = "unknown"
    last: LastTurn = LastTurn()
    #: How we know of the turn whose end is awaited; none: no end is awaited.
    authority: Source = "none"
    #: The screen has shown that turn.
    was_seen: bool = False
    #: When it began, as far as we know.
    began_at: datetime | None = None
    #: When the prompt was noted.
    noted_at: datetime | None = None
    #: Since when the TUI stands there without it.
    rested_at: datetime | None = None
    #: The newest ended turn that is not the awaited one.
    settled: Ended | None = None


def noted(turn: TurnBelief, sight: Sight | None, *, at: datetime) -> TurnBelief:
    """A turn runs because somebody said so; whatever ended before is not its end."""
    ended = None if sight is None else sight.ended
    return TurnBelief(
        phase="active",
        authority="explicit_input",
        began_at=at,
        noted_at=at,
        settled=ended or turn.settled,
    )


def withdrawn(turn: TurnBelief) -> TurnBelief:
    """What was noted did not happen."""
    return replace(turn, authority="none", phase="unknown", noted_at=None, began_at=None)


def turn_after(
    turn: TurnBelief,
    sight: Sight,
    verdict: Verdict,
    evidence: Evidences,
    *,
    at: datetime,
    timings: TrackingTimings,
    testimony: Testimony,
) -> TurnBelief:
    """The turn after a look that led to *verdict*."""
    if sight.surface is None:
        # Whatever ran is out of sight; nobody will learn how it ends.
        return replace(turn, phase="unknown", authority="none", was_seen=False)
    is_working = verdict.state in AT_WORK or (verdict.state == "stale" and sight.surface.is_working)
    if is_working:
        return _at_work(turn, sight, at=at)
    if verdict.is_recovered:
        return TurnBelief(phase="ready", last=turn.last, settled=sight.ended)
    if verdict.state not in OVER:
        return replace(turn, phase="unknown", was_seen=turn.was_seen or verdict.state == "blocked")
    if turn.authority == "none":
        return _at_rest(turn, sight, at=at)
    rested = replace(turn, rested_at=turn.rested_at or at)
    proof = _proof(rested, sight, evidence, at, timings, testimony)
    if proof is not None:
        return TurnBelief(phase="ready", last=_ending(proof, turn.authority, sight, at), settled=sight.ended)
    return _unproved(rested, sight, at=at, timings=timings)


def _at_rest(turn: TurnBelief, sight: Sight, *, at: datetime) -> TurnBelief:
    """Nothing was awaited; a turn that came and went between two looks is told by the transcript alone."""
    last = turn.last
    is_later = turn.settled is None or (
        sight.ended is not None and sight.ended.submitted_at_utc > turn.settled.submitted_at_utc
    )
    if turn.phase == "ready" and sight.ended is not None and is_later:
        if _is_of(turn.last, sight.ended):
            # Its end was seen before the transcript told of it, which knows better how, and nothing else.
            last = _ending(sight.ended.outcome, last.source, sight, last.at or at)
        else:
            last = _ending(sight.ended.outcome, "surface_inference", sight, at)
    return replace(turn, phase="ready", last=last, settled=sight.ended, rested_at=turn.rested_at or at)


def _is_of(last: LastTurn, ended: Ended) -> bool:
    """Whether *ended* began before the last turn's end was seen, and so is that turn."""
    try:
        return last.at is not None and clock.parse(ended.submitted_at_utc) <= last.at
    except ValueError:  # the CLI's own file, and its own way to write times
        return False


def _ending(proof: Outcome, source: Source, sight: Sight, at: datetime) -> LastTurn:
    ending = LastTurn(result=_RESULTS[proof], source=source, at=at)
    if proof != "error" or sight.surface is None:
        return ending
    lost_context = sight.surface.chat_context == "degraded"
    return replace(ending, error_kind=sight.surface.error_kind, lost_context=lost_context)


def _at_work(turn: TurnBelief, sight: Sight, *, at: datetime) -> TurnBelief:
    is_same = turn.phase != "ready" and turn.authority != "none"
    shown = sight.surface is not None and sight.surface.is_working
    return replace(
        turn,
        phase="active",
        last=LastTurn(),
        authority=turn.authority if is_same else "surface_inference",
        began_at=turn.began_at if is_same and turn.began_at is not None else at,
        was_seen=(is_same and turn.was_seen) or shown,
        rested_at=None,
    )


def _proof(
    turn: TurnBelief,
    sight: Sight,
    evidence: Evidences,
    at: datetime,
    timings: TrackingTimings,
    testimony: Testimony,
) -> Outcome | None:
    """How the awaited turn ended, by the best witness that tells; None while nobody does."""
    if sight.ended is not None and sight.ended != turn.settled:
        return sight.ended.outcome
    hook = evidence.get("hook")
    if hook is not None and turn.began_at is not None and hook.since >= turn.began_at:
        if hook.says == "failed":
            return "error"
        if hook.says == "ended" and testimony.end_means_success and "hook" in testimony.ends:
            return "success"
    if not turn.was_seen or sight.surface is None:
        return None
    if sight.surface.outcome in ("interrupted", "error"):
        return sight.surface.outcome
    # Nobody else will tell: standing still for long enough has to do.
    assert turn.rested_at is not None
    stood = at - turn.rested_at >= timedelta(seconds=timings.completion_stability_seconds)
    return "success" if stood and is_sole(evidence) else None


def _unproved(turn: TurnBelief, sight: Sight, *, at: datetime, timings: TrackingTimings) -> TurnBelief:
    if turn.was_seen:
        # Over, but not proved how; somebody may still tell.
        return replace(turn, phase="ready")
    recovery = timedelta(seconds=timings.final_stable_active_recovery_seconds)
    if turn.noted_at is not None and at - turn.noted_at < recovery:
        return replace(turn, phase="active")
    return TurnBelief(phase="ready", last=turn.last, settled=sight.ended)

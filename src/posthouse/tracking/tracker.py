"""What is believed of a TUI: each look, each note of a prompt, and time itself give the next belief. Pure.

A turn is believed to run when the screen shows it or when somebody noted a prompt. How it ended is
believed only from the agent's own transcript: a quiet screen proves that it is over, not how.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.tracking.sight import Ended, Sight
from posthouse.tracking.surface_facts import Facts, facts_of

Phase = Literal["ready", "active", "unknown"]
Result = Literal["success", "interrupted", "known_failure", "none"]
Source = Literal["explicit_input", "surface_inference", "none"]

MAX_TRANSITIONS = 24
_RESULTS: Mapping[str, Result] = {
    "success": "success",
    "interrupted": "interrupted",
    "error": "known_failure",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTurn:
    """How the last turn ended, if that was proved."""

    result: Result = "none"
    source: Source = "none"
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBelief:
    """What is believed of the turn that runs, and of the one before."""

    phase: Phase = "unknown"
    last: LastTurn = LastTurn()
    #: How we know of the turn whose end is awaited; none: no end is awaited.
    authority: Source = "none"
    #: The screen has shown that turn.
    was_seen: bool = False
    #: When the prompt was noted.
    noted_at: datetime | None = None
    #: The newest ended turn that is not the awaited one.
    settled: Ended | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One change of what is believed."""

    at: datetime
    changed: tuple[str, ...]
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """Everything that is believed of one TUI."""

    #: None: nobody has looked yet.
    sight: Sight | None = None
    seen_at: datetime
    turn: TurnBelief = TurnBelief()
    #: Since when none of its facts changed.
    since: datetime
    transitions: tuple[Transition, ...] = ()

    @property
    def surface(self) -> Facts:
        return facts_of(self.sight)

    @property
    def facts(self) -> Mapping[str, str]:
        """All that counts as a change when it changes, by the contract's names."""
        told = self.turn
        return {
            **self.surface.named(),
            "turn_phase": told.phase,
            "last_turn_result": told.last.result,
            "last_turn_source": told.last.source,
        }

    @property
    def signature(self) -> str:
        canonical = json.dumps(self.facts, sort_keys=True).encode()
        return hashlib.sha1(canonical, usedforsecurity=False).hexdigest()

    def is_stable(self, at: datetime, timings: TrackingTimings) -> bool:
        return at - self.since >= timedelta(seconds=timings.stability_threshold_seconds)


def initial(at: datetime) -> Belief:
    """What is believed before the first look."""
    return Belief(seen_at=at, since=at)


def see(belief: Belief, sight: Sight, *, at: datetime, timings: TrackingTimings) -> Belief:
    """The belief after a look. The same sight again counts too, because time may have passed."""
    recovery = timedelta(seconds=timings.final_stable_active_recovery_seconds)
    turn = _turn_after(belief.turn, sight, at=at, recovery=recovery)
    return _changed(belief, replace(belief, sight=sight, seen_at=at, turn=turn), at)


def note(belief: Belief, *, at: datetime) -> Belief:
    """The belief after somebody said that a prompt goes in: a turn runs, and the last one is past."""
    turn = TurnBelief(phase="active", authority="explicit_input", noted_at=at, settled=_newest_ended(belief))
    return _changed(belief, replace(belief, turn=turn), at)


def withdraw(belief: Belief, *, at: datetime, timings: TrackingTimings) -> Belief:
    """The belief after a noted prompt turned out not to have been typed."""
    unarmed = replace(belief, turn=replace(belief.turn, authority="none", phase="unknown", noted_at=None))
    return unarmed if belief.sight is None else see(unarmed, belief.sight, at=at, timings=timings)


def _newest_ended(belief: Belief) -> Ended | None:
    ended = None if belief.sight is None else belief.sight.ended
    return ended or belief.turn.settled


def _turn_after(turn: TurnBelief, sight: Sight, *, at: datetime, recovery: timedelta) -> TurnBelief:
    surface = sight.surface
    if surface is None:
        # Whatever ran is out of sight; nobody will learn how it ends.
        return replace(turn, phase="unknown", authority="none", was_seen=False)
    if surface.is_working:
        is_same = turn.phase != "ready" and turn.authority != "none"
        authority: Source = turn.authority if is_same else "surface_inference"
        return replace(turn, phase="active", last=LastTurn(), authority=authority, was_seen=True)
    if surface.state not in ("ready", "draft"):
        return replace(turn, phase="unknown", was_seen=turn.was_seen or surface.state == "blocked")
    return _turn_at_rest(turn, sight, at=at, recovery=recovery)


def _turn_at_rest(turn: TurnBelief, sight: Sight, *, at: datetime, recovery: timedelta) -> TurnBelief:
    if turn.authority == "none":
        return replace(turn, phase="ready", settled=sight.ended)
    if sight.ended is not None and sight.ended != turn.settled:
        ending = LastTurn(result=_RESULTS[sight.ended.outcome], source=turn.authority, at=at)
        return TurnBelief(phase="ready", last=ending, settled=sight.ended)
    if turn.was_seen:
        # Over, but not proved how; the transcript may still tell.
        return replace(turn, phase="ready")
    if turn.noted_at is not None and at - turn.noted_at < recovery:
        return replace(turn, phase="active")
    return TurnBelief(phase="ready", last=turn.last, settled=sight.ended)


def _changed(before: Belief, after: Belief, at: datetime) -> Belief:
    """*after*, with the transition to it if it is one."""
    old, new = before.facts, after.facts
    changed = tuple(name for name in new if new[name] != old[name])
    if not changed:
        return after
    transition = Transition(at=at, changed=changed, facts=new)
    kept = (*before.transitions, transition)[-MAX_TRANSITIONS:]
    return replace(after, since=at, transitions=kept)

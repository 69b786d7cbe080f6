"""What is believed of a TUI: each look, each note of a prompt, and time itself give the next belief. Pure.

A turn is believed to run when somebody saw it or noted a prompt. How it ended is believed from the
agent's own transcript first, then its hooks, then a mark on the screen: a quiet screen proves that
it is over, not how. Only where nobody but the screen ever told of a turn does standing still mean success.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.terminal.screen import ErrorKind, Outcome
from posthouse.tools.tool import Testimony
from posthouse.tracking import evidence as witnesses
from posthouse.tracking import inference
from posthouse.tracking.disagreement import Known
from posthouse.tracking.drift import Drift
from posthouse.tracking.evidence import Evidences
from posthouse.tracking.inference import Verdict
from posthouse.tracking.observation import Sight
from posthouse.tracking.surface_facts import Facts, facts_of
from posthouse.tracking.turn import OUTCOMES, TurnBelief, noted, turn_after, withdrawn

MAX_TRANSITIONS = 24
_UNJUDGED = Verdict(state="unknown", detail="nobody has looked yet")
_NO_TURN = TurnBelief()
_NO_DRIFT = Drift()
DEFAULT_TESTIMONY = Testimony()


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
    evidence: Evidences = field(default_factory=dict)
    verdict: Verdict = _UNJUDGED
    #: Since when the state is what it is.
    state_since: datetime
    turn: TurnBelief = _NO_TURN
    #: Since when none of its facts changed.
    since: datetime
    #: Since when the screen's text is the same.
    text_since: datetime
    #: When the screen last showed a dialog.
    blocked_at: datetime | None = None
    drift: Drift = _NO_DRIFT
    transitions: tuple[Transition, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """How the last turn ended: as it was proved, else as the screen shows it."""
        if self.turn.last.result != "none":
            return OUTCOMES[self.turn.last.result]
        surface = None if self.sight is None else self.sight.surface
        is_over = self.turn.authority == "none" and self.verdict.state in witnesses.OVER
        return surface.outcome if surface is not None and is_over else "none"

    @property
    def error_kind(self) -> ErrorKind | None:
        """Which error the last turn ended with; None unless it did."""
        if self.outcome != "error":
            return None
        surface = None if self.sight is None else self.sight.surface
        return self.turn.last.error_kind or (surface.error_kind if surface else None) or "api_error"

    @property
    def surface(self) -> Facts:
        return facts_of(self.sight, self.verdict)

    @property
    def facts(self) -> Mapping[str, str]:
        """All that counts as a change when it changes, by the contract's names."""
        last = self.turn.last.in_contract
        return {
            **self.surface.named(),
            "turn_phase": self.turn.phase,
            "last_turn_result": last.result,
            "last_turn_source": last.source,
        }

    @property
    def signature(self) -> str:
        canonical = json.dumps(self.facts, sort_keys=True).encode()
        return hashlib.sha1(canonical, usedforsecurity=False).hexdigest()

    def is_stable(self, at: datetime, timings: TrackingTimings) -> bool:
        return at - self.since >= timedelta(seconds=timings.stability_threshold_seconds)


def initial(at: datetime) -> Belief:
    """What is believed before the first look."""
    return Belief(seen_at=at, since=at, state_since=at, text_since=at)


def see(
    belief: Belief,
    sight: Sight,
    *,
    at: datetime,
    timings: TrackingTimings,
    testimony: Testimony = DEFAULT_TESTIMONY,
) -> Belief:
    """The belief after a look. The same sight again counts too, because time may have passed."""
    told = witnesses.gather(sight, belief.evidence, at=at)
    is_blocked = sight.surface is not None and sight.surface.state == "blocked"
    is_same_text = belief.sight is not None and belief.sight.text == sight.text
    looked = replace(
        belief,
        sight=sight,
        seen_at=at,
        evidence=told,
        blocked_at=at if is_blocked else belief.blocked_at,
        text_since=belief.text_since if is_same_text else at,
    )
    verdict = inference.judge(known_of(looked), at=at, timings=timings, testimony=testimony)
    turn = turn_after(belief.turn, sight, verdict, told, at=at, timings=timings, testimony=testimony)
    after = replace(
        looked,
        verdict=verdict,
        turn=turn,
        drift=belief.drift.after(belief.verdict, verdict, at=at),
        state_since=belief.state_since if verdict.state == belief.verdict.state else at,
    )
    return _changed(belief, after, at)


def note(belief: Belief, *, at: datetime) -> Belief:
    """The belief after somebody said that a prompt goes in: a turn runs, and the last one is past."""
    return _changed(belief, replace(belief, turn=noted(belief.turn, belief.sight, at=at)), at)


def withdraw(
    belief: Belief, *, at: datetime, timings: TrackingTimings, testimony: Testimony = DEFAULT_TESTIMONY
) -> Belief:
    """The belief after a noted prompt turned out not to have been typed."""
    unarmed = replace(belief, turn=withdrawn(belief.turn))
    if belief.sight is None:
        return unarmed
    return see(unarmed, belief.sight, at=at, timings=timings, testimony=testimony)


def next_at(belief: Belief, *, at: datetime, timings: TrackingTimings) -> datetime | None:
    """When time alone may change the belief; None: never."""
    if belief.sight is None:
        return None
    times = [inference.next_at(known_of(belief), belief.verdict, at=at, timings=timings)]
    if belief.turn.authority != "none":
        if belief.turn.rested_at is not None:
            completion = timedelta(seconds=timings.completion_stability_seconds)
            times.append(belief.turn.rested_at + completion)
        if belief.turn.noted_at is not None:
            recovery = timedelta(seconds=timings.final_stable_active_recovery_seconds)
            times.append(belief.turn.noted_at + recovery)
    return min((moment for moment in times if moment is not None and moment > at), default=None)


def known_of(belief: Belief) -> Known:
    """What a judgement of *belief* is made from."""
    assert belief.sight is not None
    return Known(
        sight=belief.sight,
        evidence=belief.evidence,
        blocked_at=belief.blocked_at,
        text_since=belief.text_since,
        is_noted=belief.turn.authority == "explicit_input",
    )


def _changed(before: Belief, after: Belief, at: datetime) -> Belief:
    """*after*, with the transition to it if it is one."""
    old, new = before.facts, after.facts
    changed = tuple(name for name in new if new[name] != old[name])
    if not changed:
        return after
    transition = Transition(at=at, changed=changed, facts=new)
    kept = (*before.transitions, transition)[-MAX_TRANSITIONS:]
    return replace(after, since=at, transitions=kept)

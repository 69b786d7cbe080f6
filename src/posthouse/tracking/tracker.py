"""Tracks the state of a TUI: each observation, each noted prompt and time produce the next state. Pure.

A turn counts as running when it was observed or a prompt was noted. The agent's transcript decides how it
ended, then its hooks, then a mark on the screen. An idle screen proves that the turn ended, not how. It
means success only if the screen is the only source that has ever shown a turn.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.terminal.screen import ErrorKind, Outcome
from posthouse.tools.tool import EvidenceRules
from posthouse.tracking import inference
from posthouse.tracking.disagreement import InferenceInput
from posthouse.tracking.drift import Drift
from posthouse.tracking.evidence import FINISHED_STATES, EvidenceBySource, collect_evidence
from posthouse.tracking.inference import Inference
from posthouse.tracking.observation import Observation
from posthouse.tracking.surface_facts import SurfaceFacts, facts_of
from posthouse.tracking.turn import OUTCOMES, TrackedTurn, noted, turn_after, withdrawn

MAX_TRANSITIONS = 24
_NOT_OBSERVED = Inference(state="unknown", detail="not observed yet")
_NO_TURN = TrackedTurn()
_NO_DRIFT = Drift()
DEFAULT_RULES = EvidenceRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One change of the inferred facts."""

    at: datetime
    changed: tuple[str, ...]
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TuiState:
    """The inferred state of one TUI."""

    #: None: not observed yet.
    observation: Observation | None = None
    observed_at: datetime
    evidence: EvidenceBySource = field(default_factory=dict)
    inferred: Inference = _NOT_OBSERVED
    #: When the state last changed.
    state_since: datetime
    turn: TrackedTurn = _NO_TURN
    #: When a fact last changed.
    since: datetime
    #: When the screen's text last changed.
    text_since: datetime
    #: When the screen last showed a dialog.
    blocked_at: datetime | None = None
    drift: Drift = _NO_DRIFT
    transitions: tuple[Transition, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """How the last turn ended: as proved, else as shown on the screen."""
        if self.turn.last.result != "none":
            return OUTCOMES[self.turn.last.result]
        surface = None if self.observation is None else self.observation.surface
        is_over = self.turn.authority == "none" and self.inferred.state in FINISHED_STATES
        return surface.outcome if surface is not None and is_over else "none"

    @property
    def error_kind(self) -> ErrorKind | None:
        """The kind of error of the last turn; None unless it failed."""
        if self.outcome != "error":
            return None
        surface = None if self.observation is None else self.observation.surface
        return self.turn.last.error_kind or (surface.error_kind if surface else None) or "api_error"

    @property
    def surface(self) -> SurfaceFacts:
        return facts_of(self.observation, self.inferred)

    @property
    def facts(self) -> Mapping[str, str]:
        """The facts whose changes are transitions, by the contract's names."""
        last = self.turn.last.in_contract
        return {
            **self.surface.by_name(),
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


def initial(at: datetime) -> TuiState:
    """The state before the first observation."""
    return TuiState(observed_at=at, since=at, state_since=at, text_since=at)


def observe(
    state: TuiState,
    observation: Observation,
    *,
    at: datetime,
    timings: TrackingTimings,
    rules: EvidenceRules = DEFAULT_RULES,
) -> TuiState:
    """The state after *observation*. Repeating an observation also matters: time may have passed."""
    evidence = collect_evidence(observation, state.evidence, at=at)
    is_blocked = observation.surface is not None and observation.surface.state == "blocked"
    is_same_text = state.observation is not None and state.observation.text == observation.text
    observed = replace(
        state,
        observation=observation,
        observed_at=at,
        evidence=evidence,
        blocked_at=at if is_blocked else state.blocked_at,
        text_since=state.text_since if is_same_text else at,
    )
    inferred = inference.infer(inference_input(observed), at=at, timings=timings, rules=rules)
    turn = turn_after(state.turn, observation, inferred, evidence, at=at, timings=timings, rules=rules)
    after = replace(
        observed,
        inferred=inferred,
        turn=turn,
        drift=state.drift.updated(state.inferred, inferred, at=at),
        state_since=state.state_since if inferred.state == state.inferred.state else at,
    )
    return _changed(state, after, at)


def note_prompt(state: TuiState, *, at: datetime) -> TuiState:
    """The state after a prompt was announced: a turn runs, and the last turn's result is cleared."""
    return _changed(state, replace(state, turn=noted(state.turn, state.observation, at=at)), at)


def withdraw_prompt(
    state: TuiState, *, at: datetime, timings: TrackingTimings, rules: EvidenceRules = DEFAULT_RULES
) -> TuiState:
    """The state after a noted prompt turned out not to have been typed."""
    withdrawn_state = replace(state, turn=withdrawn(state.turn))
    if state.observation is None:
        return withdrawn_state
    return observe(withdrawn_state, state.observation, at=at, timings=timings, rules=rules)


def next_at(state: TuiState, *, at: datetime, timings: TrackingTimings) -> datetime | None:
    """The next time at which the state may change without a new observation; None: never."""
    if state.observation is None:
        return None
    times = [inference.next_at(inference_input(state), state.inferred, at=at, timings=timings)]
    if state.turn.authority != "none":
        if state.turn.idle_since is not None:
            completion = timedelta(seconds=timings.completion_stability_seconds)
            times.append(state.turn.idle_since + completion)
        if state.turn.noted_at is not None:
            recovery = timedelta(seconds=timings.final_stable_active_recovery_seconds)
            times.append(state.turn.noted_at + recovery)
    return min((moment for moment in times if moment is not None and moment > at), default=None)


def inference_input(state: TuiState) -> InferenceInput:
    assert state.observation is not None
    return InferenceInput(
        observation=state.observation,
        evidence=state.evidence,
        blocked_at=state.blocked_at,
        text_since=state.text_since,
        is_prompt_noted=state.turn.authority == "explicit_input",
    )


def _changed(before: TuiState, after: TuiState, at: datetime) -> TuiState:
    """*after*, with a transition if facts changed."""
    old, new = before.facts, after.facts
    changed = tuple(name for name in new if new[name] != old[name])
    if not changed:
        return after
    transition = Transition(at=at, changed=changed, facts=new)
    kept = (*before.transitions, transition)[-MAX_TRANSITIONS:]
    return replace(after, since=at, transitions=kept)

"""Infers the state of a TUI from all evidence. Pure.

Only the screen shows whether a prompt can be typed, so its state applies at once. Hooks and the transcript
report the beginning and end of turns: they take precedence over a screen that lags behind or can't be read.
The state is `unknown` after a contradiction that lasts longer than the stability window.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.terminal.screen import Choice, Surface
from posthouse.tools.tool import EvidenceRules
from posthouse.tracking import disagreement, resets
from posthouse.tracking.disagreement import Disagreement, InferenceInput
from posthouse.tracking.evidence import IDLE_STATES, WORKING_STATES, Source, is_screen_only

InferredState = Literal[
    "starting",
    "ready",
    "draft",
    "active",
    "queued",
    "blocked",
    "limited",
    "exited",
    "stale",
    "unknown",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """The inferred state of a TUI and the sources that decided it."""

    state: InferredState
    decided_by: tuple[Source, ...] = ()
    detail: str = ""
    dialog: str | None = None
    choices: tuple[Choice, ...] = ()
    #: When a usage limit ends; None if unknown.
    resets_at: datetime | None = None
    #: Set during a contradiction, also before the window has passed.
    disagreement: Disagreement | None = None
    #: The screen shows a turn but has not changed for too long, so the turn counts as ended.
    is_recovered: bool = False


def infer(
    inputs: InferenceInput, *, at: datetime, timings: TrackingTimings, rules: EvidenceRules
) -> Inference:
    observation, surface = inputs.observation, inputs.observation.surface
    if observation.reach == "no_answer":
        return Inference(state="stale", decided_by=("process",), detail=observation.detail)
    if surface is None or surface.state == "exited":
        return Inference(
            state="exited", decided_by=("process",), detail=observation.detail or "its program ended"
        )
    found = disagreement.find_disagreement(inputs, rules)
    if found is not None and at - found.since >= _seconds(timings.stability_threshold_seconds):
        return Inference(state="unknown", decided_by=found.between, detail=found.message, disagreement=found)
    inferred = _by_hook(inputs, at=at, timings=timings, rules=rules)
    inferred = inferred or _by_screen(inputs, surface, at=at, timings=timings)
    return replace(inferred, disagreement=found)


def next_at(
    inputs: InferenceInput, inferred: Inference, *, at: datetime, timings: TrackingTimings
) -> datetime | None:
    """The next time at which the inference may change without new evidence; None: never."""
    window = _seconds(timings.stability_threshold_seconds)
    times = []
    if inferred.disagreement is not None:
        times.append(inferred.disagreement.since + window)
    if (hook := inputs.evidence.get("hook")) is not None:
        times.append(hook.since + window)
    if inferred.resets_at is not None:
        times.append(inferred.resets_at)
    if inferred.state in WORKING_STATES:
        stalled = _seconds(timings.unknown_to_stalled_timeout_seconds)
        times.append((inputs.observation.output_at or at) + stalled)
        if is_screen_only(inputs.evidence):
            times.append(inputs.text_since + _seconds(timings.stale_active_recovery_seconds))
            times.append(inputs.text_since + _seconds(timings.final_stable_active_recovery_seconds))
    return min((moment for moment in times if moment > at), default=None)


def _by_hook(
    inputs: InferenceInput, *, at: datetime, timings: TrackingTimings, rules: EvidenceRules
) -> Inference | None:
    """The inference from a hook if the screen lags behind or can't be read; else None."""
    hook, screen = inputs.evidence.get("hook"), inputs.evidence.get("screen")
    if hook is None or screen is None:
        return None
    is_fresh = at - hook.since < _seconds(timings.stability_threshold_seconds)
    is_news = screen.value in IDLE_STATES and screen.since <= hook.since and is_fresh
    if not is_news and screen.value != "unknown":
        return None
    if hook.value == "submitted" and "hook" in rules.starts:
        return Inference(state="active", decided_by=("hook",), detail="a hook reported its prompt")
    if hook.value == "asking" and "hook" in rules.blocks:
        return Inference(
            state="blocked", decided_by=("hook",), detail="a hook reported that a person is asked"
        )
    return None


def _by_screen(
    inputs: InferenceInput, surface: Surface, *, at: datetime, timings: TrackingTimings
) -> Inference:
    if surface.is_working and (recovered := _recovered(inputs, surface, at=at, timings=timings)):
        return recovered
    if surface.is_working and _is_silent(inputs, at=at, timings=timings):
        return Inference(
            state="stale", decided_by=("screen",), detail="it shows a turn, and has written nothing for long"
        )
    if surface.state == "limited":
        return _limited(inputs, surface, at=at)
    return Inference(
        state=surface.state,
        decided_by=("title", "screen") if surface.title is not None else ("screen",),
        detail=surface.detail,
        dialog=surface.dialog,
        choices=surface.choices,
    )


def _limited(inputs: InferenceInput, surface: Surface, *, at: datetime) -> Inference:
    resets_at = resets.reset_time(surface.resets or "", seen_at=inputs.evidence["screen"].since)
    if resets_at is None or at < resets_at:
        return Inference(state="limited", decided_by=("screen",), detail=surface.detail, resets_at=resets_at)
    return Inference(
        state="draft" if surface.composer else "ready",
        decided_by=("screen",),
        detail="the usage limit's reset time has passed",
    )


def _recovered(
    inputs: InferenceInput, surface: Surface, *, at: datetime, timings: TrackingTimings
) -> Inference | None:
    """The inference if only the screen shows a turn and it has not changed for too long; else None."""
    if not is_screen_only(inputs.evidence):
        return None
    stood = at - inputs.text_since
    is_weak = surface.title != "active" and surface.composer == "" and not inputs.is_prompt_noted
    if stood >= _seconds(timings.final_stable_active_recovery_seconds) or (
        is_weak and stood >= _seconds(timings.stale_active_recovery_seconds)
    ):
        return Inference(
            state="draft" if surface.composer else "ready",
            decided_by=("screen",),
            detail=f"the screen shows a turn, but has not changed for {stood.total_seconds():.0f} s",
            is_recovered=True,
        )
    return None


def _is_silent(inputs: InferenceInput, *, at: datetime, timings: TrackingTimings) -> bool:
    output_at = inputs.observation.output_at
    stalled = _seconds(timings.unknown_to_stalled_timeout_seconds)
    return output_at is not None and at - output_at >= stalled


def _seconds(number: float) -> timedelta:
    return timedelta(seconds=number)

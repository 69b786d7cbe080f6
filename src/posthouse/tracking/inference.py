"""What a TUI is doing, judged from all that is known of it. Pure.

The screen alone shows whether something can be typed, so its word is taken at once. Hooks and the transcript
begin and end turns: they are believed before a screen that shows it later, or that can't be read. Where two
contradict each other for longer than the stability window, nothing is believed.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.terminal.screen import Choice, Surface
from posthouse.tools.tool import Testimony
from posthouse.tracking import disagreement, resets
from posthouse.tracking.disagreement import Disagreement, Known
from posthouse.tracking.evidence import AT_REST, AT_WORK, Source, is_sole

State = Literal[
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
class Verdict:
    """What a TUI is doing, and who says so."""

    state: State
    decided_by: tuple[Source, ...] = ()
    detail: str = ""
    dialog: str | None = None
    choices: tuple[Choice, ...] = ()
    #: When a usage limit ends; None when it does not say.
    resets_at: datetime | None = None
    #: Set while two contradict each other, also before the window has passed.
    disagreement: Disagreement | None = None
    #: Nothing new comes from a turn that is shown as running, so it is taken for over.
    is_recovered: bool = False


def judge(known: Known, *, at: datetime, timings: TrackingTimings, testimony: Testimony) -> Verdict:
    """The verdict at *at*."""
    sight, surface = known.sight, known.sight.surface
    if sight.reach == "no_answer":
        return Verdict(state="stale", decided_by=("process",), detail=sight.detail)
    if surface is None or surface.state == "exited":
        return Verdict(state="exited", decided_by=("process",), detail=sight.detail or "its program ended")
    found = disagreement.find(known, testimony)
    if found is not None and at - found.since >= _seconds(timings.stability_threshold_seconds):
        return Verdict(state="unknown", decided_by=found.between, detail=found.words, disagreement=found)
    verdict = _by_hook(known, at=at, timings=timings, testimony=testimony)
    verdict = verdict or _by_screen(known, surface, at=at, timings=timings)
    return replace(verdict, disagreement=found)


def next_at(known: Known, verdict: Verdict, *, at: datetime, timings: TrackingTimings) -> datetime | None:
    """When time alone may change the verdict; None: never."""
    window = _seconds(timings.stability_threshold_seconds)
    times = []
    if verdict.disagreement is not None:
        times.append(verdict.disagreement.since + window)
    if (hook := known.evidence.get("hook")) is not None:
        times.append(hook.since + window)
    if verdict.resets_at is not None:
        times.append(verdict.resets_at)
    if verdict.state in AT_WORK:
        stalled = _seconds(timings.unknown_to_stalled_timeout_seconds)
        times.append((known.sight.output_at or at) + stalled)
        if is_sole(known.evidence):
            times.append(known.text_since + _seconds(timings.stale_active_recovery_seconds))
            times.append(known.text_since + _seconds(timings.final_stable_active_recovery_seconds))
    return min((moment for moment in times if moment > at), default=None)


def _by_hook(known: Known, *, at: datetime, timings: TrackingTimings, testimony: Testimony) -> Verdict | None:
    """What a hook says that the screen does not show yet, or can't be read for; None: it adds nothing."""
    hook, screen = known.evidence.get("hook"), known.evidence.get("screen")
    if hook is None or screen is None:
        return None
    is_fresh = at - hook.since < _seconds(timings.stability_threshold_seconds)
    is_news = screen.says in AT_REST and screen.since <= hook.since and is_fresh
    if not is_news and screen.says != "unknown":
        return None
    if hook.says == "submitted" and "hook" in testimony.starts:
        return Verdict(state="active", decided_by=("hook",), detail="a hook reported its prompt")
    if hook.says == "asking" and "hook" in testimony.blocks:
        return Verdict(state="blocked", decided_by=("hook",), detail="a hook reported that a person is asked")
    return None


def _by_screen(known: Known, surface: Surface, *, at: datetime, timings: TrackingTimings) -> Verdict:
    if surface.is_working and (recovered := _recovered(known, surface, at=at, timings=timings)):
        return recovered
    if surface.is_working and _is_silent(known, at=at, timings=timings):
        return Verdict(
            state="stale", decided_by=("screen",), detail="it shows a turn, and has written nothing for long"
        )
    if surface.state == "limited":
        return _limited(known, surface, at=at)
    return Verdict(
        state=surface.state,
        decided_by=("title", "screen") if surface.title is not None else ("screen",),
        detail=surface.detail,
        dialog=surface.dialog,
        choices=surface.choices,
    )


def _limited(known: Known, surface: Surface, *, at: datetime) -> Verdict:
    resets_at = resets.moment(surface.resets or "", seen_at=known.evidence["screen"].since)
    if resets_at is None or at < resets_at:
        return Verdict(state="limited", decided_by=("screen",), detail=surface.detail, resets_at=resets_at)
    return Verdict(
        state="draft" if surface.composer else "ready",
        decided_by=("screen",),
        detail="the usage limit's reset time has passed",
    )


def _recovered(known: Known, surface: Surface, *, at: datetime, timings: TrackingTimings) -> Verdict | None:
    """A turn that only the screen shows, and that has stood still for too long; None: it is believed."""
    if not is_sole(known.evidence):
        return None
    stood = at - known.text_since
    is_weak = surface.title != "active" and surface.composer == "" and not known.is_noted
    if stood >= _seconds(timings.final_stable_active_recovery_seconds) or (
        is_weak and stood >= _seconds(timings.stale_active_recovery_seconds)
    ):
        return Verdict(
            state="draft" if surface.composer else "ready",
            decided_by=("screen",),
            detail=f"the screen shows a turn, but has not changed for {stood.total_seconds():.0f} s",
            is_recovered=True,
        )
    return None


def _is_silent(known: Known, *, at: datetime, timings: TrackingTimings) -> bool:
    heard_at = known.sight.output_at
    stalled = _seconds(timings.unknown_to_stalled_timeout_seconds)
    return heard_at is not None and at - heard_at >= stalled


def _seconds(number: float) -> timedelta:
    return timedelta(seconds=number)

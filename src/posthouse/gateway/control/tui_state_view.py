"""The inferred state of a TUI with all its evidence, as an HTTP response. Pure."""

from datetime import datetime

from posthouse.contracts import gateway_tui_http as wire
from posthouse.support import clock
from posthouse.tracking.disagreement import Disagreement
from posthouse.tracking.evidence import Evidence, Source
from posthouse.tracking.inference import Inference
from posthouse.tracking.tracker import TuiState

_ORDER: tuple[Source, ...] = ("hook", "transcript", "process", "title", "screen")


def state_of(
    state: TuiState, session: wire.TrackedSession, *, at: datetime, note: str | None = None
) -> wire.TuiStateResponse:
    """The state at *at*, strongest evidence first. *note* is about the pack that read the screen."""
    verdict, surface = state.inferred, None if state.observation is None else state.observation.surface
    return wire.TuiStateResponse(
        terminal_id=session.tracked_session_id,
        state=verdict.state,
        state_since_utc=clock.iso_micros(state.state_since),
        state_age_seconds=_age(state.state_since, at),
        detail=verdict.detail,
        outcome=state.outcome,
        error_kind=state.error_kind,
        dialog=dialog_of(verdict),
        draft=None if surface is None else surface.composer,
        is_scrolled=state.observation is not None and state.observation.is_scrolled,
        resets_at_utc=None if verdict.resets_at is None else clock.iso_seconds(verdict.resets_at),
        decided_by=verdict.decided_by,
        evidence=tuple(
            _evidence(source, state.evidence[source], at) for source in _ORDER if source in state.evidence
        ),
        disagreement=None if verdict.disagreement is None else _disagreement(verdict.disagreement),
        disagreements=state.drift.count,
        drift_alarm_at_utc=_time_or_none(state.drift.alerted_at),
        reader=wire.ScreenPackInfo(
            tool=session.tool,
            tool_version=session.observed_tool_version,
            pack=(surface.pack or None) if surface is not None else None,
            note=note,
        ),
    )


def dialog_of(verdict: Inference) -> wire.OpenDialog | None:
    """The open dialog; None when none is open."""
    if verdict.state != "blocked":
        return None
    return wire.OpenDialog(
        name=verdict.dialog,
        choices=tuple(
            wire.DialogChoice(number=one.number, label=one.label, selected=one.is_selected)
            for one in verdict.choices
        ),
    )


def _evidence(source: Source, one: Evidence, at: datetime) -> wire.StateEvidence:
    return wire.StateEvidence(
        source=source,
        says=one.value,
        detail=one.detail,
        since_utc=clock.iso_micros(one.since),
        age_seconds=_age(one.since, at),
    )


def _disagreement(found: Disagreement) -> wire.EvidenceConflict:
    return wire.EvidenceConflict(
        between=found.between, words=found.message, since_utc=clock.iso_micros(found.since)
    )


def _time_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else clock.iso_micros(moment)


def _age(since: datetime, at: datetime) -> float:
    # Never negative, even if the clock was set back.
    return max((at - since).total_seconds(), 0.0)

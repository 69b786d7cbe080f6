"""A belief about a TUI with all its evidence, as HTTP tells it. Pure."""

from datetime import datetime

from posthouse.contracts import gateway_tui_http as wire
from posthouse.support import clock
from posthouse.tracking.disagreement import Disagreement
from posthouse.tracking.evidence import Evidence, Source
from posthouse.tracking.inference import Verdict
from posthouse.tracking.tracker import Belief

_ORDER: tuple[Source, ...] = ("hook", "transcript", "process", "title", "screen")


def belief_of(
    belief: Belief, session: wire.TrackedSession, *, at: datetime, note: str | None = None
) -> wire.TuiBelief:
    """What is believed at *at*, strongest evidence first. *note* is about the pack that read the screen."""
    verdict, surface = belief.verdict, None if belief.sight is None else belief.sight.surface
    return wire.TuiBelief(
        terminal_id=session.tracked_session_id,
        state=verdict.state,
        state_since_utc=clock.iso_micros(belief.state_since),
        state_age_seconds=_age(belief.state_since, at),
        detail=verdict.detail,
        outcome=belief.outcome,
        error_kind=belief.error_kind,
        dialog=dialog_of(verdict),
        draft=None if surface is None else surface.composer,
        is_scrolled=belief.sight is not None and belief.sight.is_scrolled,
        resets_at_utc=None if verdict.resets_at is None else clock.iso_seconds(verdict.resets_at),
        decided_by=verdict.decided_by,
        evidence=tuple(
            _evidence(source, belief.evidence[source], at) for source in _ORDER if source in belief.evidence
        ),
        disagreement=None if verdict.disagreement is None else _disagreement(verdict.disagreement),
        disagreements=belief.drift.count,
        drift_alarm_at_utc=_time_or_none(belief.drift.alarmed_at),
        reader=wire.BeliefReader(
            tool=session.tool,
            tool_version=session.observed_tool_version,
            pack=(surface.pack or None) if surface is not None else None,
            note=note,
        ),
    )


def dialog_of(verdict: Verdict) -> wire.BeliefDialog | None:
    """What is asked; None while nothing is."""
    if verdict.state != "blocked":
        return None
    return wire.BeliefDialog(
        name=verdict.dialog,
        choices=tuple(
            wire.BeliefChoice(number=one.number, label=one.label, selected=one.is_selected)
            for one in verdict.choices
        ),
    )


def _evidence(source: Source, one: Evidence, at: datetime) -> wire.BeliefEvidence:
    return wire.BeliefEvidence(
        source=source,
        says=one.says,
        detail=one.detail,
        since_utc=clock.iso_micros(one.since),
        age_seconds=_age(one.since, at),
    )


def _disagreement(found: Disagreement) -> wire.BeliefDisagreement:
    return wire.BeliefDisagreement(
        between=found.between, words=found.words, since_utc=clock.iso_micros(found.since)
    )


def _time_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else clock.iso_micros(moment)


def _age(since: datetime, at: datetime) -> float:
    # A clock that was set back makes no negative time.
    return max((at - since).total_seconds(), 0.0)

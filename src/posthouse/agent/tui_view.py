"""A belief about a TUI as HTTP tells it. Pure."""

import hashlib
from datetime import datetime

from posthouse.contracts import gateway_tui_http as wire
from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.support import clock
from posthouse.tracking.observation import Sight
from posthouse.tracking.surface_facts import PROBE_ERROR, Facts
from posthouse.tracking.tracker import Belief, Transition

_EXCERPT_CHARS = 4000
_HEAD_LINES = 10
_PREVIEW_CHARS = 240


def state_of(
    belief: Belief, session: wire.TrackedSession, *, at: datetime, timings: TrackingTimings
) -> wire.TerminalState:
    """How the TUI stands at *at*."""
    shown = snapshot_of(belief, session.tool, at=at, timings=timings)
    return wire.TerminalState(
        terminal_id=next(iter(session.terminal_aliases), session.tracked_session_id),
        tracked_session=session,
        diagnostics=shown.diagnostics,
        probe_snapshot=shown.probe_snapshot,
        parsed_surface=shown.parsed_surface,
        surface=shown.surface,
        turn=shown.turn,
        last_turn=shown.last_turn,
        chat_context=shown.chat_context,
        chat_context_diagnostic=shown.chat_context_diagnostic,
        stability=shown.stability,
        recent_transitions=tuple(transition_of(one) for one in belief.transitions),
    )


def snapshot_of(belief: Belief, tool: str, *, at: datetime, timings: TrackingTimings) -> wire.Snapshot:
    """One entry of the history, recorded at *at*."""
    facts, last = belief.surface, belief.turn.last.in_contract
    return wire.Snapshot(
        recorded_at_utc=clock.iso_micros(at),
        diagnostics=_diagnostics(facts),
        probe_snapshot=None if belief.sight is None else _probe(belief.sight, belief.seen_at),
        parsed_surface=_parsed(belief.sight, facts, tool),
        surface=wire.SurfaceSignals(
            accepting_input=facts.accepting, editing_input=facts.editing, ready_posture=facts.posture
        ),
        turn=wire.TurnPhase(phase=belief.turn.phase),
        last_turn=wire.LastTurn(
            result=last.result,
            source=last.source,
            updated_at_utc=None if last.at is None else clock.iso_micros(last.at),
        ),
        chat_context=facts.chat,
        chat_context_diagnostic=_chat_diagnostic(belief.sight, tool),
        stability=wire.Stability(
            signature=belief.signature,
            stable=belief.is_stable(at, timings),
            # A clock that was set back makes no negative time.
            stable_for_seconds=max((at - belief.since).total_seconds(), 0.0),
            stable_since_utc=clock.iso_micros(belief.since),
        ),
    )


def _diagnostics(facts: Facts) -> wire.Diagnostics:
    problem = None
    if facts.probe_error is not None:
        problem = wire.Problem(kind=PROBE_ERROR, message=facts.probe_error)
    return wire.Diagnostics(
        availability=facts.availability,
        transport_state=facts.transport,
        process_state=facts.process,
        parse_status=facts.parse,
        probe_error=problem,
    )


def _chat_diagnostic(sight: Sight | None, tool: str) -> wire.ContextDiagnostic | None:
    surface = None if sight is None else sight.surface
    if surface is None or surface.chat_diagnostic is None:
        return None
    name, version = _pack(surface.pack)
    return wire.ContextDiagnostic(
        tool_name=tool,
        detector_name=name or tool,
        detector_version=version or "",
        degraded_error_type=surface.chat_diagnostic.error_type,
        message_preview=surface.chat_diagnostic.preview[:_PREVIEW_CHARS] or None,
    )


def _pack(told: str) -> tuple[str | None, str | None]:
    """Name and version of the pack that read a screen."""
    name, _, version = told.partition(" ")
    return name or None, version or None


def _probe(sight: Sight, seen_at: datetime) -> wire.ProbeSnapshot:
    captured = sight.text.encode(errors="replace")
    return wire.ProbeSnapshot(
        observed_at_utc=clock.iso_micros(seen_at),
        pane_id=sight.pane_id,
        pane_pid=sight.pane_pid,
        captured_text_hash=hashlib.sha1(captured, usedforsecurity=False).hexdigest() if captured else None,
        captured_text_length=len(sight.text),
        captured_text_excerpt=sight.text[-_EXCERPT_CHARS:],
        matched_process_names=sight.process_names,
    )


def _parsed(sight: Sight | None, facts: Facts, tool: str) -> wire.ParsedSurface | None:
    if sight is None or sight.surface is None or facts.parse != "parsed":
        return None
    preset, version = _pack(sight.surface.pack)
    lines = sight.text.split("\n")
    return wire.ParsedSurface(
        parser_family=tool,
        parser_preset_id=preset,
        parser_preset_version=version,
        availability="supported",
        business_state=facts.business,
        input_mode=facts.input_mode,
        ui_context=facts.context,
        normalized_projection_text=sight.text,
        dialog_text=sight.text,
        dialog_head="\n".join(lines[:_HEAD_LINES]),
        dialog_tail="\n".join(lines[-_HEAD_LINES:]),
        operator_blocked_excerpt=sight.text[-_EXCERPT_CHARS:] if facts.input_mode == "modal" else None,
    )


def transition_of(one: Transition) -> wire.Transition:
    facts = one.facts
    return wire.Transition.model_validate(
        {
            "recorded_at_utc": clock.iso_micros(one.at),
            "summary": ", ".join(f"{name}={facts[name]}" for name in one.changed),
            "changed_fields": one.changed,
            **{name: facts[name] for name in _KEPT},
        }
    )


_KEPT = (
    "diagnostics_availability",
    "turn_phase",
    "last_turn_result",
    "last_turn_source",
    "transport_state",
    "process_state",
    "parse_status",
)

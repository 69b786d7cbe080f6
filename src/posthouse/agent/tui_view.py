"""The inferred state of a TUI as HTTP responses. Pure."""

import hashlib
from datetime import datetime

from posthouse.contracts import gateway_tui_http as wire
from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.support import clock
from posthouse.tracking.observation import Observation
from posthouse.tracking.surface_facts import PROBE_ERROR, SurfaceFacts
from posthouse.tracking.tracker import Transition, TuiState

_EXCERPT_CHARS = 4000
_HEAD_LINES = 10
_PREVIEW_CHARS = 240


def state_of(
    state: TuiState, session: wire.TrackedSession, *, at: datetime, timings: TrackingTimings
) -> wire.TerminalState:
    """Terminal state at *at*."""
    shown = snapshot_of(state, session.tool, at=at, timings=timings)
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
        recent_transitions=tuple(transition_of(one) for one in state.transitions),
    )


def snapshot_of(state: TuiState, tool: str, *, at: datetime, timings: TrackingTimings) -> wire.Snapshot:
    """One entry of the history, recorded at *at*."""
    facts, last = state.surface, state.turn.last.in_contract
    return wire.Snapshot(
        recorded_at_utc=clock.iso_micros(at),
        diagnostics=_diagnostics(facts),
        probe_snapshot=None if state.observation is None else _probe(state.observation, state.observed_at),
        parsed_surface=_parsed(state.observation, facts, tool),
        surface=wire.SurfaceSignals(
            accepting_input=facts.accepting, editing_input=facts.editing, ready_posture=facts.posture
        ),
        turn=wire.TurnPhase(phase=state.turn.phase),
        last_turn=wire.LastTurn(
            result=last.result,
            source=last.source,
            updated_at_utc=None if last.at is None else clock.iso_micros(last.at),
        ),
        chat_context=facts.chat,
        chat_context_diagnostic=_chat_diagnostic(state.observation, tool),
        stability=wire.Stability(
            signature=state.signature,
            stable=state.is_stable(at, timings),
            # Never negative, even if the clock was set back.
            stable_for_seconds=max((at - state.since).total_seconds(), 0.0),
            stable_since_utc=clock.iso_micros(state.since),
        ),
    )


def _diagnostics(facts: SurfaceFacts) -> wire.Diagnostics:
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


def _chat_diagnostic(observation: Observation | None, tool: str) -> wire.ContextDiagnostic | None:
    surface = None if observation is None else observation.surface
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


def _pack(label: str) -> tuple[str | None, str | None]:
    """Name and version of the pack that read a screen."""
    name, _, version = label.partition(" ")
    return name or None, version or None


def _probe(observation: Observation, seen_at: datetime) -> wire.ProbeSnapshot:
    captured = observation.text.encode(errors="replace")
    return wire.ProbeSnapshot(
        observed_at_utc=clock.iso_micros(seen_at),
        pane_id=observation.pane_id,
        pane_pid=observation.pane_pid,
        captured_text_hash=hashlib.sha1(captured, usedforsecurity=False).hexdigest() if captured else None,
        captured_text_length=len(observation.text),
        captured_text_excerpt=observation.text[-_EXCERPT_CHARS:],
        matched_process_names=observation.process_names,
    )


def _parsed(observation: Observation | None, facts: SurfaceFacts, tool: str) -> wire.ParsedSurface | None:
    if observation is None or observation.surface is None or facts.parse != "parsed":
        return None
    preset, version = _pack(observation.surface.pack)
    lines = observation.text.split("\n")
    return wire.ParsedSurface(
        parser_family=tool,
        parser_preset_id=preset,
        parser_preset_version=version,
        availability="supported",
        business_state=facts.business,
        input_mode=facts.input_mode,
        ui_context=facts.context,
        normalized_projection_text=observation.text,
        dialog_text=observation.text,
        dialog_head="\n".join(lines[:_HEAD_LINES]),
        dialog_tail="\n".join(lines[-_HEAD_LINES:]),
        operator_blocked_excerpt=observation.text[-_EXCERPT_CHARS:] if facts.input_mode == "modal" else None,
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

"""The state of a TUI's terminal, from its gateway or from a local observer. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from posthouse.agent import tui_observation, tui_view
from posthouse.contracts import gateway_tui_http as tui
from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.tracking import tracker
from posthouse.tracking.tracker import Transition, TuiState

#: The timings reported while the pane is not observed.
_UNOBSERVED = TrackingTimings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A TUI at one moment, and its latest transitions, oldest first."""

    diagnostics: tui.Diagnostics
    probe_snapshot: tui.ProbeSnapshot | None
    parsed_surface: tui.ParsedSurface | None
    surface: tui.SurfaceSignals
    turn: tui.TurnPhase
    last_turn: tui.LastTurn
    stability: tui.Stability
    transitions: tuple[tui.Transition, ...] = ()

    @classmethod
    def from_gateway(cls, state: tui.TerminalState) -> Self:
        return cls._of(state, state.recent_transitions)

    @classmethod
    def from_state(
        cls,
        state: TuiState,
        tool: str,
        *,
        at: datetime,
        timings: TrackingTimings,
        transitions: Iterable[Transition],
    ) -> Self:
        snapshot = tui_view.snapshot_of(state, tool, at=at, timings=timings)
        return cls._of(snapshot, tuple(tui_view.transition_of(one) for one in transitions))

    @classmethod
    def missing(cls, tool: str, reason: str, *, at: datetime) -> Self:
        """The state without a tmux session."""
        nothing = tui_observation.of_nothing(reason, is_attached=False)
        state = tracker.observe(tracker.initial(at), nothing, at=at, timings=_UNOBSERVED)
        return cls.from_state(state, tool, at=at, timings=_UNOBSERVED, transitions=())

    @classmethod
    def unreadable(cls, tool: str, kind: str, reason: str, *, at: datetime) -> Self:
        """The state when the terminal can't be observed."""
        blank = tui_view.snapshot_of(tracker.initial(at), tool, at=at, timings=_UNOBSERVED)
        diagnostics = tui.Diagnostics(
            availability="error",
            transport_state="probe_error",
            process_state="probe_error",
            parse_status="probe_error",
            probe_error=tui.Problem(kind=kind, message=reason),
        )
        return cls._of(blank.model_copy(update={"diagnostics": diagnostics}), ())

    @classmethod
    def _of(cls, snapshot: tui.TerminalState | tui.Snapshot, transitions: tuple[tui.Transition, ...]) -> Self:
        return cls(
            diagnostics=snapshot.diagnostics,
            probe_snapshot=snapshot.probe_snapshot,
            parsed_surface=snapshot.parsed_surface,
            surface=snapshot.surface,
            turn=snapshot.turn,
            last_turn=snapshot.last_turn,
            stability=snapshot.stability,
            transitions=transitions,
        )

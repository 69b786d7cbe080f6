"""What is known of a TUI's terminal, whoever looked at it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from posthouse.agent import tui_observation, tui_view
from posthouse.contracts import gateway_tui_http as tui
from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.tracking import tracker
from posthouse.tracking.tracker import Belief, Transition

#: What its readers are told while nobody looked into the pane.
_NOT_LOOKED = TrackingTimings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A TUI at one moment, and its latest changes, oldest first."""

    diagnostics: tui.Diagnostics
    probe_snapshot: tui.ProbeSnapshot | None
    parsed_surface: tui.ParsedSurface | None
    surface: tui.SurfaceSignals
    turn: tui.TurnPhase
    last_turn: tui.LastTurn
    stability: tui.Stability
    transitions: tuple[tui.Transition, ...] = ()

    @classmethod
    def of_gateway(cls, state: tui.TerminalState) -> Self:
        return cls._of(state, state.recent_transitions)

    @classmethod
    def of_belief(
        cls,
        belief: Belief,
        tool: str,
        *,
        at: datetime,
        timings: TrackingTimings,
        transitions: Iterable[Transition],
    ) -> Self:
        shown = tui_view.snapshot_of(belief, tool, at=at, timings=timings)
        return cls._of(shown, tuple(tui_view.transition_of(one) for one in transitions))

    @classmethod
    def missing(cls, tool: str, reason: str, *, at: datetime) -> Self:
        """There is no tmux session to look into."""
        nothing = tui_observation.of_nothing(reason, is_attached=False)
        belief = tracker.see(tracker.initial(at), nothing, at=at, timings=_NOT_LOOKED)
        return cls.of_belief(belief, tool, at=at, timings=_NOT_LOOKED, transitions=())

    @classmethod
    def unreadable(cls, tool: str, kind: str, reason: str, *, at: datetime) -> Self:
        """Nobody can tell where to look."""
        blank = tui_view.snapshot_of(tracker.initial(at), tool, at=at, timings=_NOT_LOOKED)
        told = tui.Diagnostics(
            availability="error",
            transport_state="probe_error",
            process_state="probe_error",
            parse_status="probe_error",
            probe_error=tui.Problem(kind=kind, message=reason),
        )
        return cls._of(blank.model_copy(update={"diagnostics": told}), ())

    @classmethod
    def _of(cls, shown: tui.TerminalState | tui.Snapshot, transitions: tuple[tui.Transition, ...]) -> Self:
        return cls(
            diagnostics=shown.diagnostics,
            probe_snapshot=shown.probe_snapshot,
            parsed_surface=shown.parsed_surface,
            surface=shown.surface,
            turn=shown.turn,
            last_turn=shown.last_turn,
            stability=shown.stability,
            transitions=transitions,
        )

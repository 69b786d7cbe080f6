"""The current state of one agent, with its evidence."""

from dataclasses import dataclass
from typing import Literal

from posthouse import tools
from posthouse.contracts.manifest import LEGACY
from posthouse.contracts.registry import ENDED
from posthouse.errors import Unavailable
from posthouse.sessions import start
from posthouse.sessions.liveness import Agent
from posthouse.sessions.session import Session
from posthouse.terminal import session as terminal
from posthouse.turns import runner

Phase = Literal["ready", "active", "unknown"]
Result = Literal["success", "interrupted", "known_failure", "none", "unknown"]

_TURN_RESULTS: dict[str, Result] = {
    "completed": "success",
    "interrupted": "interrupted",
    "failed": "known_failure",
    "unknown": "known_failure",
}
_EXCHANGE_RESULTS: dict[str | None, Result] = {
    "success": "success",
    "interrupted": "interrupted",
    "error": "known_failure",
    None: "unknown",
}
_SURFACE_PHASES: dict[str, Phase] = {
    "ready": "ready",
    "draft": "ready",
    "active": "active",
    "queued": "active",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentObservation:
    """The state of an agent at one moment."""

    phase: Phase
    evidence: str
    active_turn_id: str | None = None
    last_result: Result = "none"
    last_turn_id: str | None = None
    last_turn_index: int | None = None
    last_at_utc: str | None = None


def observe(agent: Agent, session: Session) -> AgentObservation:
    """Read the turn folders of a headless agent, or the screen and transcript of a TUI."""
    backend = session.manifest.backend
    if backend in LEGACY:
        return AgentObservation(phase="unknown", evidence=f"backend {backend} is only shown, never driven")
    return _headless(agent, session) if session.manifest.is_headless else _tui(agent, session)


def _headless(agent: Agent, session: Session) -> AgentObservation:
    states = [turn.state() for turn in runner.turns_of(session.turns_root)]
    active = next((state for state in states if state.status == "active"), None)
    ended = [state for state in states if state.status != "active"]
    phase: Phase = "active" if active else "ready" if agent.health == "healthy" else "unknown"
    evidence = f"turn {active.turn_id} runs" if active else "no turn runs"
    if not ended:
        return AgentObservation(
            phase=phase, evidence=evidence, active_turn_id=active.turn_id if active else None
        )
    return AgentObservation(
        phase=phase,
        evidence=evidence,
        active_turn_id=active.turn_id if active else None,
        last_result=_TURN_RESULTS[ended[-1].status],
        last_turn_id=ended[-1].turn_id,
        last_turn_index=ended[-1].turn_index,
        last_at_utc=ended[-1].completed_at_utc,
    )


def _tui(agent: Agent, session: Session) -> AgentObservation:
    phase, evidence = _screen(agent, session)
    launch = start.launch_of(session)
    exchanges = tools.load(session.manifest.tool).exchanges(launch.home, launch.working_directory)
    ended = [exchange for exchange in exchanges if exchange.outcome is not None]
    return AgentObservation(
        phase=phase,
        evidence=evidence,
        active_turn_id=f"tui-anchor:{agent.agent_id}" if phase == "active" else None,
        last_result=_EXCHANGE_RESULTS[ended[-1].outcome] if ended else "none",
        last_at_utc=ended[-1].submitted_at_utc if ended else None,
    )


def _screen(agent: Agent, session: Session) -> tuple[Phase, str]:
    if agent.record.lifecycle.state in ENDED or not agent.is_live:
        return "unknown", agent.detail or agent.health
    try:
        pane = terminal.agent_pane(session.tmux, session.tmux_session_name)
        screen = terminal.capture(session.tmux, pane.pane_id)
    except Unavailable as error:
        return "unknown", str(error)
    if screen.dead:
        return "unknown", "the program ended"
    if screen.in_mode:
        return "unknown", "its terminal is in copy mode; prompts wait until that ends"
    surface = tools.load(session.manifest.tool).read_surface(screen, session.manifest.tool_version)
    return _SURFACE_PHASES.get(
        surface.state, "unknown"
    ), f"the screen shows {surface.state}: {surface.evidence[0]}"

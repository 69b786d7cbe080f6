"""Health of agents, from their records and tmux.

A record is only a locator. Each tmux server is queried once, however many agents it holds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from posthouse.contracts.registry import ENDED, Record
from posthouse.errors import PosthouseError
from posthouse.sessions import session
from posthouse.sessions.registry import Registry
from posthouse.sessions.session import Session
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Server, Tmux

Health = Literal[
    "healthy",
    "degraded_missing_primary",
    "stale_missing_session",
    "stopped",
    "unknown",
]


#: State of the agent's pane, by session name of one tmux server.
Surfaces = Mapping[str, terminal.PaneState]
#: Record states whose agent should be running.
RUNNING = frozenset({"active", "relaunching"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One registered agent and its health."""

    record: Record
    #: None when the manifest can't be read.
    session: Session | None
    health: Health
    #: The reason for the health, if known.
    detail: str | None = None

    @property
    def name(self) -> str:
        return self.record.agent_name

    @property
    def agent_id(self) -> str:
        return self.record.agent_id

    @property
    def is_live(self) -> bool:
        return self.health in ("healthy", "degraded_missing_primary")


def registered(registry: Registry, states: frozenset[str] | None = RUNNING) -> list[Agent]:
    """Every agent whose record is in one of *states* (None: all), by name."""
    chosen = [record for record in registry.records() if states is None or record.lifecycle.state in states]
    return probe(sorted(chosen, key=lambda record: (record.agent_name, record.agent_id)))


def probe(records: Iterable[Record]) -> list[Agent]:
    """The agent of each record, in the given order. A bad manifest or server affects only its own agents."""
    known: dict[Server, Surfaces | PosthouseError] = {}
    return [_agent(record, known) for record in records]


def probe_pane(agent: Agent) -> Agent:
    """*agent* with the exit status of an ended program in `detail`, when tmux knows it."""
    if agent.health != "degraded_missing_primary" or agent.session is None:
        return agent
    found = agent.session
    try:
        pane = terminal.agent_pane(found.tmux, found.tmux_session_name)
    except PosthouseError as error:
        return replace(agent, detail=str(error))
    return replace(agent, detail=f"the program ended{pane.ending}") if pane.dead else agent


def _agent(record: Record, known: dict[Server, Surfaces | PosthouseError]) -> Agent:
    try:
        found = session.read(Path(record.runtime.manifest_path))
    except PosthouseError as error:
        return Agent(record=record, session=None, health="unknown", detail=str(error))
    if record.lifecycle.state in ENDED:
        return Agent(record=record, session=found, health="stopped", detail=record.lifecycle.stop_reason)
    server = found.tmux.server
    if server not in known:
        known[server] = _surfaces(server)
    alive = known[server]
    if isinstance(alive, PosthouseError):
        return Agent(record=record, session=found, health="unknown", detail=str(alive))
    health, detail = _health(record.terminal.current_session_name or "", alive, found)
    return Agent(record=record, session=found, health=health, detail=detail)


def _health(session_name: str, alive: Surfaces, found: Session) -> tuple[Health, str | None]:
    surface = alive.get(session_name)
    if surface is None:
        return "stale_missing_session", f"its tmux session {session_name} is gone"
    if surface == "missing":
        return "degraded_missing_primary", f"its tmux session {session_name} has no window 0"
    # Before the first turn and between turns a headless agent's pane runs nothing.
    if surface == "ended" and not found.manifest.is_headless:
        return "degraded_missing_primary", "the program ended"
    if surface == "waiting" and not found.manifest.is_headless:
        return "degraded_missing_primary", "the program was not started"
    return "healthy", None


def _surfaces(server: Server) -> Surfaces | PosthouseError:
    try:
        return terminal.pane_states(Tmux(server))
    except PosthouseError as error:
        return error

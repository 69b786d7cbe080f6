"""The demo: two scripted agents with gateways and a coordination server, in a separate home folder."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from posthouse.cli import agent_state, gateways, servers
from posthouse.cli.wiring import Wiring
from posthouse.contracts.gateway_files import CurrentInstance
from posthouse.sessions import liveness
from posthouse.sessions.agents import AgentNotFound
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.liveness import Agent
from posthouse.sessions.session import Session
from posthouse.support import files, locks

LOCK = "demo.lock"
_WORKSPACE = "workspace"
_ROOTS = ("registry", "runtime", "mailbox")


@dataclass(frozen=True, slots=True)
class DemoAgent:
    """One agent of the demo."""

    name: str
    headless: bool


DEMO_AGENTS = (DemoAgent("demo-tui", headless=False), DemoAgent("demo-headless", headless=True))


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One row of the demo's table."""

    agent: Agent
    state: str
    gateway: CurrentInstance | None


class Demo:
    """The demo of one home folder. One process at a time runs it; leftovers of a killed one are reused."""

    def __init__(self, wiring: Wiring, home: Path) -> None:
        self._wiring = wiring
        self._agents = wiring.agents
        self.home = home
        self.lock = home / LOCK

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Hold the lock of the process that runs the demo.

        Raises:
            LockHeld: Another process holds it.
        """
        with locks.hold(self.lock):
            yield

    def start(self, demo_agent: DemoAgent) -> Session:
        """Ensure that *demo_agent* runs with its gateway: reuse, restart or launch it."""
        try:
            existing = self._agents.find(name=demo_agent.name)
        except AgentNotFound:
            session = self._agents.launch(self._spec(demo_agent))
        else:
            session = self._restart(existing, demo_agent)
        gateways.ensure(self._wiring, session)
        return session

    def start_server(self) -> str:
        """Ensure that the coordination server runs; returns its URL.

        It listens on the default port, or on a free one if that is taken.
        """
        return servers.ensure(self._wiring, ports=(self._wiring.server_port, 0)).api_base_url

    @property
    def server_url(self) -> str | None:
        """The URL of the coordination server, or None."""
        existing = servers.running(self._wiring.roots.runtime)
        return None if existing is None else existing.api_base_url

    def stop(self) -> list[str]:
        """Stop the server and all demo agents; returns the names of those that ran."""
        stopped = ["server"] if servers.stop(self._wiring.roots.runtime) else []
        for agent in self.registered():
            if agent.health != "stopped":
                self._agents.stop(agent, reason="demo stopped")
                stopped.append(agent.name)
        return stopped

    def registered(self) -> list[Agent]:
        """The registered demo agents, whatever their health."""
        existing = {agent.name: agent for agent in liveness.registered(self._wiring.registry, None)}
        return [existing[demo_agent.name] for demo_agent in DEMO_AGENTS if demo_agent.name in existing]

    def table(self) -> list[AgentRow]:
        return [self._row(agent) for agent in self.registered()]

    def remove(self) -> None:
        """Remove the demo's state. The caller has stopped it and holds the lock; the lock file stays."""
        for name in (*_ROOTS, _WORKSPACE):
            shutil.rmtree(self.home / name, ignore_errors=True)

    def _restart(self, existing: Agent, demo_agent: DemoAgent) -> Session:
        if existing.session is None:
            return self._agents.launch(self._spec(demo_agent), replace_existing=True)
        if existing.health == "healthy":
            return existing.session
        return self._agents.relaunch(existing, None)

    def _spec(self, demo_agent: DemoAgent) -> LaunchSpec:
        return LaunchSpec(
            tool="scripted",
            name=demo_agent.name,
            headless=demo_agent.headless,
            working_directory=files.private_folder(self.home / _WORKSPACE),
            mailbox={},
        )

    def _row(self, agent: Agent) -> AgentRow:
        if agent.session is None:
            return AgentRow(agent, agent.health, None)
        seen = agent_state.observe(agent, agent.session)
        return AgentRow(
            agent, seen.phase if agent.is_live else agent.health, gateways.live_instance(agent.session)
        )

"""The demo: two scripted agents with gateways and a coordination server over them, in a home of their own."""

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
class Part:
    """One agent of the demo."""

    name: str
    headless: bool


PARTS = (Part("demo-tui", headless=False), Part("demo-headless", headless=True))


@dataclass(frozen=True, slots=True)
class Shown:
    """One row of the demo's table."""

    agent: Agent
    state: str
    gateway: CurrentInstance | None


class Demo:
    """The demo of one home. One process at a time runs it; what a killed one left is used again."""

    def __init__(self, wiring: Wiring, home: Path) -> None:
        self._wiring = wiring
        self._agents = wiring.agents
        self.home = home
        self.lock = home / LOCK

    @contextmanager
    def running(self) -> Iterator[None]:
        """Be the one that runs it.

        Raises:
            LockHeld: Another process does.
        """
        with locks.hold(self.lock):
            yield

    def start(self, part: Part) -> Session:
        """Have *part* running with its gateway: found alive, started again, or launched."""
        try:
            there = self._agents.find(name=part.name)
        except AgentNotFound:
            made = self._agents.launch(self._spec(part))
        else:
            made = self._again(there, part)
        gateways.ensure(self._wiring, made)
        return made

    def serve(self) -> str:
        """Have the coordination server running over the parts; its address.

        It is at the usual port where that is free, else at any.
        """
        return servers.ensure(self._wiring, ports=(self._wiring.server_port, 0)).api_base_url

    @property
    def address(self) -> str | None:
        """Where the coordination server is; None: there is none."""
        there = servers.running(self._wiring.roots.runtime)
        return None if there is None else there.api_base_url

    def stop(self) -> list[str]:
        """Stop the server and every part that is there; the names of those that ran."""
        stopped = ["server"] if servers.end(self._wiring.roots.runtime) else []
        for agent in self.parts():
            if agent.health != "stopped":
                self._agents.stop(agent, reason="demo stopped")
                stopped.append(agent.name)
        return stopped

    def parts(self) -> list[Agent]:
        """The parts that are registered, however they are."""
        there = {agent.name: agent for agent in liveness.registered(self._wiring.registry, None)}
        return [there[part.name] for part in PARTS if part.name in there]

    def table(self) -> list[Shown]:
        return [self._shown(agent) for agent in self.parts()]

    def remove(self) -> None:
        """Remove the demo's state. The caller has stopped it and holds the lock, which stays."""
        for name in (*_ROOTS, _WORKSPACE):
            shutil.rmtree(self.home / name, ignore_errors=True)

    def _again(self, there: Agent, part: Part) -> Session:
        if there.session is None:
            return self._agents.launch(self._spec(part), replace_existing=True)
        if there.health == "healthy":
            return there.session
        return self._agents.relaunch(there, None)

    def _spec(self, part: Part) -> LaunchSpec:
        return LaunchSpec(
            tool="scripted",
            name=part.name,
            headless=part.headless,
            working_directory=files.private_folder(self.home / _WORKSPACE),
            mailbox={},
        )

    def _shown(self, agent: Agent) -> Shown:
        if agent.session is None:
            return Shown(agent, agent.health, None)
        seen = agent_state.observe(agent, agent.session)
        return Shown(agent, seen.phase if agent.is_live else agent.health, gateways.process_of(agent.session))

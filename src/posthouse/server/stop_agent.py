"""Stops an agent with its gateway, turn and processes; its record stays for a relaunch."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.managed_agent_files import TurnRecord
from posthouse.contracts.registry import ENDED
from posthouse.errors import NotFound, Unavailable
from posthouse.server.agent_index import UnknownAgent
from posthouse.server.member import Member
from posthouse.server.observation.tui_observers import TuiObservers
from posthouse.server.turns.agent_turns import NOT_OPERABLE
from posthouse.sessions.agents import Agents, LegacyBackend

#: How long a stop waits until the agent index shows it, and how often it checks.
_INDEX_SECONDS = 5.0
_POLL_SECONDS = 0.01
_REASON = "stopped over the managed-agent API"


class Turns(Protocol):
    """Headless turns, from their records and artifacts."""

    async def active(self, member: Member) -> TurnRecord | None: ...


class AgentStopper:
    """Stops agents. The agent's registry lock serializes concurrent calls."""

    def __init__(
        self, agents: Agents, turns: Turns, tui_observers: TuiObservers, *, find: Callable[[str], Member]
    ) -> None:
        self._agents = agents
        self._find = find
        self._turns = turns
        self._tui_observers = tui_observers

    async def stop(self, member: Member) -> wire.ActionDone:
        """Stop the agent and all its processes. Idempotent; also for dead agents.

        Raises:
            UnknownAgent: It was removed from the registry meanwhile.
            Unavailable: Its backend is read-only.
            Unavailable: Its tmux server does not answer, or a process does not end.
        """
        running = await self._turns.active(member) if member.is_headless else None
        detail = await asyncio.to_thread(self._stop, member)
        self._tui_observers.forget(member.record.runtime.manifest_path)
        await self._wait_until_indexed(member)
        if running is not None and await self._turns.active(member) is None:
            detail = f"{detail}; its turn {running.turn_index} was ended"
        return wire.ActionDone(
            tracked_agent_id=member.tracked_agent_id,
            detail=detail,
            turn_id=running.turn_id if running else None,
            manifest_path=member.record.runtime.manifest_path,
            session_root=member.record.runtime.session_root,
        )

    async def _wait_until_indexed(self, member: Member) -> None:
        """Return when the server's routes show the stop too; the registry has it already."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_INDEX_SECONDS):
                while not self._is_indexed_as_ended(member):
                    await asyncio.sleep(_POLL_SECONDS)

    def _is_indexed_as_ended(self, member: Member) -> bool:
        try:
            return self._find(member.tracked_agent_id).record.lifecycle.state in ENDED
        except UnknownAgent:
            return True

    def _stop(self, member: Member) -> str:
        name = member.record.agent_name
        try:
            agent = self._agents.find(agent_id=member.record.agent_id)
        except NotFound as error:
            raise UnknownAgent(f"agent {name!r} was removed meanwhile") from error
        if agent.record.lifecycle.state in ENDED:
            return f"{name} was already stopped"
        try:
            self._agents.stop(agent, reason=_REASON)
        except LegacyBackend as error:
            raise Unavailable(str(error), code=NOT_OPERABLE) from error
        return f"{name} was stopped" if agent.is_live else f"{name} had died; its record is updated"

"""Ending an agent: its gateway, its turn and its processes end, its record stays and can be relaunched."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.managed_agent_files import TurnRecord
from posthouse.contracts.registry import ENDED
from posthouse.errors import NotFound
from posthouse.server.agent_index import UnknownAgent
from posthouse.server.member import Member
from posthouse.server.observation.tui_observers import Eyes
from posthouse.server.turns.agent_turns import NotOperable
from posthouse.sessions.agents import Agents, LegacyBackend

#: The server follows the registry with a moment's delay.
_PUBLISHED_SECONDS = 5.0
_LOOK_AGAIN_SECONDS = 0.01
_REASON = "stopped over the managed-agent API"


class Turns(Protocol):
    """Headless turns, as their records and artifacts tell them."""

    async def active(self, member: Member) -> TurnRecord | None: ...


class Stops:
    """Stops agents, one caller after the other: the agent's registry lock is held meanwhile."""

    def __init__(self, agents: Agents, turns: Turns, eyes: Eyes, *, find: Callable[[str], Member]) -> None:
        self._agents = agents
        self._find = find
        self._turns = turns
        self._eyes = eyes

    async def stop(self, member: Member) -> wire.ActionDone:
        """End the agent and everything below it. A second call, or one for a dead agent, is harmless.

        Raises:
            UnknownAgent: It was removed from the registry meanwhile.
            NotOperable: Its backend is only shown.
            Unreachable, StillAlive: Its tmux server does not answer, or a process would not end.
        """
        running = await self._turns.active(member) if member.is_headless else None
        detail = await asyncio.to_thread(self._stop, member)
        self._eyes.forget(member.record.runtime.manifest_path)
        await self._published(member)
        if running is not None and await self._turns.active(member) is None:
            detail = f"{detail}; its turn {running.turn_index} was ended"
        return wire.ActionDone(
            tracked_agent_id=member.tracked_agent_id,
            detail=detail,
            turn_id=running.turn_id if running else None,
            manifest_path=member.record.runtime.manifest_path,
            session_root=member.record.runtime.session_root,
        )

    async def _published(self, member: Member) -> None:
        """Return when the server's own routes tell it too; the registry's folder was told already."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PUBLISHED_SECONDS):
                while not self._is_known_as_ended(member):
                    await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def _is_known_as_ended(self, member: Member) -> bool:
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
            return f"{name} was stopped already"
        try:
            self._agents.stop(agent, reason=_REASON)
        except LegacyBackend as error:
            raise NotOperable(str(error)) from error
        return f"{name} was stopped" if agent.is_live else f"{name} had died; its record says so now"

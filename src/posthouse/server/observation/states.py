"""State and history of agents of both transports, for the routes."""

from posthouse.contracts import managed_agents_http as wire
from posthouse.server.member import Member
from posthouse.server.observation.context import ContextLoader
from posthouse.server.observation.headless import HeadlessStates, Turns
from posthouse.server.observation.tui import TuiStates
from posthouse.server.observation.tui_observers import TuiObservers


class AgentStates:
    """The states of all agents of one server, including agents that no longer run."""

    def __init__(self, contexts: ContextLoader, turns: Turns, tui_observers: TuiObservers) -> None:
        self._contexts = contexts
        self._headless = HeadlessStates(turns)
        self._tuis = TuiStates(tui_observers)

    async def summary(self, member: Member) -> wire.Summary:
        return await self._of(member).summary(await self._contexts.load(member))

    async def detail(self, member: Member) -> wire.Detail:
        return await self._of(member).detail(await self._contexts.load(member))

    async def history(self, member: Member, limit: int) -> wire.History:
        """The *limit* latest entries at most, newest first."""
        return await self._of(member).history(await self._contexts.load(member), limit)

    def _of(self, member: Member) -> HeadlessStates | TuiStates:
        return self._headless if member.is_headless else self._tuis

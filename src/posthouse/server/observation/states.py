"""How each agent is, whatever its transport: what the routes of state and history call."""

from posthouse.contracts import managed_agents_http as wire
from posthouse.server.member import Member
from posthouse.server.observation.context import Backgrounds
from posthouse.server.observation.headless import HeadlessStates, Turns
from posthouse.server.observation.tui import TuiStates
from posthouse.server.observation.tui_observers import Eyes


class States:
    """The states of all agents of one server. An agent that is gone has one too."""

    def __init__(self, backgrounds: Backgrounds, turns: Turns, eyes: Eyes) -> None:
        self._backgrounds = backgrounds
        self._headless = HeadlessStates(turns)
        self._tuis = TuiStates(eyes)

    async def summary(self, member: Member) -> wire.Summary:
        return await self._of(member).summary(await self._backgrounds.of(member))

    async def detail(self, member: Member) -> wire.Detail:
        return await self._of(member).detail(await self._backgrounds.of(member))

    async def history(self, member: Member, limit: int) -> wire.History:
        """The *limit* latest entries at most, newest first."""
        return await self._of(member).history(await self._backgrounds.of(member), limit)

    def _of(self, member: Member) -> HeadlessStates | TuiStates:
        return self._headless if member.is_headless else self._tuis

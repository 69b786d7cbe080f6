"""The coordination server: what its routes call. It keeps no process-global state."""

import asyncio
import logging

from posthouse.contracts import managed_agents_http as wire
from posthouse.coordination.discovery import Discovery
from posthouse.coordination.member import Member
from posthouse.sessions.registry import Registry


class Coordination:
    """One server over the agents of one registry."""

    def __init__(self, registry: Registry, instance: wire.ServerInstance, log: logging.Logger) -> None:
        self.instance = instance
        #: Set when somebody asked the server to end.
        self.stopping = asyncio.Event()
        self._discovery = Discovery(registry, log)

    async def open(self) -> None:
        """Know who is there, and follow.

        Raises:
            OSError: The registry's folder can't be made, read or watched.
        """
        await self._discovery.open()

    async def close(self) -> None:
        await self._discovery.close()

    def listed(self, wanted: wire.ListQuery) -> list[Member]:
        """The agents that fit, by name; those that do not run only when they are asked for."""
        roster = self._discovery.roster
        members = roster.members if wanted.include == "all" else roster.live
        return [member for member in members if wanted.fits(member.identity)]

    def member(self, ref: str) -> Member:
        """Raises:
        UnknownAgent, AmbiguousAgent: Nobody, or several, answer to *ref*.
        """
        return self._discovery.roster.find(ref)

"""The coordination server: what its routes call. It keeps no process-global state."""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts import server_files as cf
from posthouse.contracts.managed_agent_files import TurnRecord
from posthouse.events.journal import Journal
from posthouse.server.agent_index import AmbiguousAgent, UnknownAgent
from posthouse.server.discovery import Discovery
from posthouse.server.event_relay.hub import Hub
from posthouse.server.externals import ExternalBook
from posthouse.server.gateways import Gateways, LiveGateway, NoLiveGateway
from posthouse.server.mail import Mail
from posthouse.server.member import Member
from posthouse.server.observation.context import Backgrounds
from posthouse.server.observation.states import States
from posthouse.server.observation.tui_observers import Eyes
from posthouse.server.operations import Operations
from posthouse.server.requests.service import Requests
from posthouse.server.requests.tui import TuiRequests
from posthouse.server.stop_agent import Stops
from posthouse.server.turn_spans import TurnSpans
from posthouse.server.turns.agent_launch import Launches
from posthouse.server.turns.service import HeadlessTurns
from posthouse.server.turns.store import Store
from posthouse.sessions.agents import Agents
from posthouse.sessions.externals import Externals
from posthouse.support import files
from posthouse.support.disk_check import DiskCheck
from posthouse.support.supervision import Supervisor
from posthouse.support.tracing import NO_TRACING, Tracing

#: The kernel tells of a new record within moments.
_KNOWN_SECONDS = 5.0
_LOOK_SECONDS = 0.01


class Coordination:
    """One server over the agents of one registry."""

    def __init__(
        self,
        agents: Agents,
        instance: wire.ServerInstance,
        log: logging.Logger,
        tracing: Tracing = NO_TRACING,
    ) -> None:
        self.agents = agents
        self.tracing = tracing
        self.instance = instance
        #: Restarts background tasks that die, and reports them.
        self.background = Supervisor(log)
        #: Set when somebody asked the server to end.
        self.stopping = asyncio.Event()
        events = Path(instance.server_root) / cf.EVENTS
        files.private_folder(events.parent)
        #: Whoever makes something happen tells it here.
        self.journal = Journal(events)
        self._turn_spans = TurnSpans(self.journal, tracing)
        self._discovery = Discovery(agents.registry, log, self._changed, self.background)
        hub = Hub(self.journal, Path(instance.server_root) / cf.HEARD, self._port_of, log, self.background)
        self.operations = Operations(
            self.journal,
            self._discovery,
            hub,
            self.stopping,
            background=self.background,
            disk=DiskCheck(Path(instance.server_root)),
        )
        #: Agents of other machines.
        self.externals = ExternalBook(Externals(agents.registry.root), log, self.background)
        #: Each agent's gateway, where it has one.
        self.gateways = Gateways(tracing)
        self.mail = Mail(self.gateways)
        #: What headless agents are asked to do, and did.
        store = Store(Path(instance.server_root), log)
        self.turns = HeadlessTurns(
            store,
            log,
            is_live=self._is_live,
            gateway_of=self._gateway_of,
            tell=self._tell_turn,
            background=self.background,
        )
        self.launches = Launches(agents, store, instance.api_base_url)
        self._eyes = Eyes(background=self.background)
        #: How each agent is, and was.
        self.states = States(Backgrounds(self.gateways, is_live=self._is_live), self.turns, self._eyes)
        #: What every agent is asked to do.
        self.requests = Requests(
            TuiRequests(self.gateways, self._eyes),
            self.turns,
            is_live=self._is_live,
            tell=self._tell_request,
        )
        self.stops = Stops(agents, self.turns, self._eyes, find=self.member)

    async def open(self) -> None:
        """Know who is there, and follow.

        Raises:
            OSError: The registry's folder can't be made, read or watched.
        """
        await self._discovery.open()
        await self.externals.open()
        self.operations.begin()
        await self.turns.open()

    async def close(self) -> None:
        await self.turns.close()
        await self._eyes.close()
        await self.operations.close()
        await self.externals.close()
        await self._discovery.close()
        self.gateways.close()
        await self.background.stop()
        self._turn_spans.close()
        self.journal.close()

    def listed(self, wanted: wire.ListQuery) -> list[Member]:
        """The agents that fit, by name; those that do not run only when they are asked for."""
        roster = self._discovery.roster
        members = roster.members if wanted.include == "all" else roster.live
        if wanted.wants_everybody:
            return [*members]
        return [
            member for member in members if wanted.fits(member.identity, member.record.gateway is not None)
        ]

    def member(self, ref: str) -> Member:
        """Raises:
        UnknownAgent, AmbiguousAgent: Nobody, or several, answer to *ref*.
        """
        return self._discovery.roster.find(ref)

    def _is_live(self, member: Member) -> bool:
        return self._discovery.roster.is_live(member)

    async def launched(self, order: wire.HeadlessLaunch) -> Member:
        """A new headless agent of this server's, which every route knows when this returns.

        Raises:
            As `Launches.launch`.
        """
        made = await self.launches.launch(order)
        with suppress(TimeoutError):  # it is there all the same, and will be known
            async with asyncio.timeout(_KNOWN_SECONDS):
                while not self._discovery.roster.has_live(made.tracked_agent_id):
                    await asyncio.sleep(_LOOK_SECONDS)
        return made

    def _changed(self) -> None:
        self.operations.look()

    async def _port_of(self, member: Member) -> int | None:
        try:
            return (await self.gateways.needed(member)).instance.port
        except NoLiveGateway:
            return None

    async def _gateway_of(self, agent_id: str) -> LiveGateway | None:
        try:
            return await self.gateways.live(self.member(agent_id))
        except (UnknownAgent, AmbiguousAgent):
            return None

    def _tell_turn(self, kind: str, record: TurnRecord) -> None:
        self.journal.add(kind, agent_id=record.tracked_agent_id, turn_id=record.turn_id, status=record.status)

    def _tell_request(self, answer: wire.ManagedAccepted) -> None:
        self.journal.add(
            "managed_request",
            agent_id=answer.tracked_agent_id,
            request_id=answer.request_id,
            request_kind=answer.request_kind,
            disposition=answer.disposition,
        )

"""The service behind the server's routes. It keeps no process-global state."""

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
from posthouse.server.event_relay.hub import EventHub
from posthouse.server.externals import ExternalAgentIndex
from posthouse.server.gateways import Gateways, LiveGateway, NoLiveGateway
from posthouse.server.mail import MailResolver
from posthouse.server.member import Member
from posthouse.server.observation.context import ContextLoader
from posthouse.server.observation.states import AgentStates
from posthouse.server.observation.tui_observers import TuiObservers
from posthouse.server.operations import Operations
from posthouse.server.requests.service import RequestService
from posthouse.server.requests.tui import TuiRequests
from posthouse.server.stop_agent import AgentStopper
from posthouse.server.turn_spans import TurnSpans
from posthouse.server.turns.agent_launch import AgentLauncher
from posthouse.server.turns.service import HeadlessTurns
from posthouse.server.turns.store import TurnStore
from posthouse.sessions.agents import Agents
from posthouse.sessions.externals import ExternalAgents
from posthouse.support import files
from posthouse.support.disk_check import DiskCheck
from posthouse.support.supervision import Supervisor
from posthouse.support.tracing import NO_TRACING, Tracing

#: How long a launch waits for the agent to appear in the index, and how often it checks.
_INDEX_SECONDS = 5.0
_POLL_SECONDS = 0.01


class ServerService:
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
        #: Set when a shutdown is requested.
        self.stopping = asyncio.Event()
        events = Path(instance.server_root) / cf.EVENTS
        files.private_folder(events.parent)
        #: All components write their events here.
        self.journal = Journal(events)
        self._turn_spans = TurnSpans(self.journal, tracing)
        self._discovery = Discovery(agents.registry, log, self._on_index_change, self.background)
        hub = EventHub(
            self.journal, Path(instance.server_root) / cf.HEARD, self._port_of, log, self.background
        )
        self.operations = Operations(
            self.journal,
            self._discovery,
            hub,
            self.stopping,
            background=self.background,
            disk=DiskCheck(Path(instance.server_root)),
        )
        #: Agents on other machines.
        self.externals = ExternalAgentIndex(ExternalAgents(agents.registry.root), log, self.background)
        #: The agents' live gateways.
        self.gateways = Gateways(tracing)
        self.mail = MailResolver(self.gateways)
        #: Headless turns.
        store = TurnStore(Path(instance.server_root), log)
        self.turns = HeadlessTurns(
            store,
            log,
            is_live=self._is_live,
            gateway_of=self._gateway_of,
            on_event=self._record_turn_event,
            background=self.background,
        )
        self.launches = AgentLauncher(agents, store, instance.api_base_url)
        self._tui_observers = TuiObservers(background=self.background)
        #: Current state and history of each agent.
        self.states = AgentStates(
            ContextLoader(self.gateways, is_live=self._is_live), self.turns, self._tui_observers
        )
        #: Prompts and interrupts for all agents.
        self.requests = RequestService(
            TuiRequests(self.gateways, self._tui_observers),
            self.turns,
            is_live=self._is_live,
            on_request=self._record_request_event,
        )
        self.stopper = AgentStopper(agents, self.turns, self._tui_observers, find=self.member)

    async def open(self) -> None:
        """Load all agents and follow changes.

        Raises:
            OSError: The registry's folder can't be created, read or watched.
        """
        await self._discovery.open()
        await self.externals.open()
        self.operations.start()
        await self.turns.open()

    async def close(self) -> None:
        await self.turns.close()
        await self._tui_observers.close()
        await self.operations.close()
        await self.externals.close()
        await self._discovery.close()
        self.gateways.close()
        await self.background.stop()
        self._turn_spans.close()
        self.journal.close()

    def list_agents(self, wanted: wire.ListQuery) -> list[Member]:
        """The matching agents, sorted by name; stopped ones only with `include=all`."""
        index = self._discovery.index
        members = index.members if wanted.include == "all" else index.live
        if wanted.matches_all:
            return [*members]
        return [
            member for member in members if wanted.matches(member.identity, member.record.gateway is not None)
        ]

    def member(self, ref: str) -> Member:
        """Raises:
        UnknownAgent, AmbiguousAgent: No agent, or several, match *ref*.
        """
        return self._discovery.index.find(ref)

    def _is_live(self, member: Member) -> bool:
        return self._discovery.index.is_live(member)

    async def launch(self, order: wire.HeadlessLaunch) -> Member:
        """Launch a headless agent. All routes find it when this returns.

        Raises:
            As `AgentLauncher.launch`.
        """
        member = await self.launches.launch(order)
        with suppress(TimeoutError):  # it is registered and appears in the index later
            async with asyncio.timeout(_INDEX_SECONDS):
                while not self._discovery.index.has_live(member.tracked_agent_id):
                    await asyncio.sleep(_POLL_SECONDS)
        return member

    def _on_index_change(self) -> None:
        self.operations.update()

    async def _port_of(self, member: Member) -> int | None:
        try:
            return (await self.gateways.require(member)).instance.port
        except NoLiveGateway:
            return None

    async def _gateway_of(self, agent_id: str) -> LiveGateway | None:
        try:
            return await self.gateways.live(self.member(agent_id))
        except (UnknownAgent, AmbiguousAgent):
            return None

    def _record_turn_event(self, kind: str, record: TurnRecord) -> None:
        self.journal.add(kind, agent_id=record.tracked_agent_id, turn_id=record.turn_id, status=record.status)

    def _record_request_event(self, answer: wire.ManagedAccepted) -> None:
        self.journal.add(
            "managed_request",
            agent_id=answer.tracked_agent_id,
            request_id=answer.request_id,
            request_kind=answer.request_kind,
            disposition=answer.disposition,
        )

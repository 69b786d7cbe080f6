"""Operator interface of one server: events, metrics and readiness."""

import asyncio

from posthouse.contracts.server_operations_http import ServerReadiness
from posthouse.events.journal import Journal
from posthouse.events.readers import EventReaders
from posthouse.server import gauges
from posthouse.server.discovery import Discovery
from posthouse.server.event_relay.hub import EventHub
from posthouse.server.lifecycle_events import LifecycleEvents
from posthouse.server.meter import TurnMetrics
from posthouse.support.disk_check import DiskCheck
from posthouse.support.supervision import Supervisor
from posthouse.web import gauges as served
from posthouse.web import operators
from posthouse.web.exposition import Family
from posthouse.web.response_counter import ResponseCounter


class Operations:
    """Events, metrics and readiness of one server."""

    def __init__(
        self,
        journal: Journal,
        discovery: Discovery,
        hub: EventHub,
        stopping: asyncio.Event,
        *,
        background: Supervisor,
        disk: DiskCheck,
    ) -> None:
        self._background = background
        self._disk = disk
        #: Readers of the event stream.
        self.event_readers = EventReaders(journal)
        self.hub = hub
        self.answers = ResponseCounter()
        self._meter = TurnMetrics(journal)
        self._lifecycle_events = LifecycleEvents(journal)
        self._discovery = discovery
        self._stopping = stopping

    def start(self) -> None:
        """Set the baseline of lifecycle events; afterwards `update` emits changes."""
        self._lifecycle_events.start(self._discovery.index, self._discovery.problems)
        self.hub.update(self._discovery.index)

    def update(self) -> None:
        """Process a changed agent index."""
        self._lifecycle_events.update(self._discovery.index, self._discovery.problems)
        self.hub.update(self._discovery.index)

    async def close(self) -> None:
        await self.hub.close()

    async def readiness(self) -> ServerReadiness:
        """Whether the registry is readable, the disk is writable and no shutdown is in progress."""
        disk_problem, discovery = await self._disk.problem(), self._discovery
        trouble = discovery.read_error or self._background.current_problem or disk_problem
        reason = "the server is shutting down" if self._stopping.is_set() else trouble
        return ServerReadiness(
            ready=reason is None,
            reason=reason,
            live_agents=len(discovery.index.live),
            record_problems=len(discovery.problems),
            background_failures=operators.failures_of(self._background),
        )

    def metrics(self) -> list[Family]:
        """All metrics of the server."""
        return [
            *gauges.of_server(problems=len(self._discovery.problems), followed=self.hub.followed),
            gauges.of_agents(self._discovery.index),
            *self._meter.families(),
            self.answers.family(),
            *served.of_readers(self.event_readers),
            *served.of_process(),
        ]

"""What one server tells those who look after it: events, numbers, and whether it is ready."""

import asyncio

from posthouse.contracts.server_operations_http import ServerReadiness
from posthouse.events.journal import Journal
from posthouse.events.readers import Audience
from posthouse.server import gauges
from posthouse.server.discovery import Discovery
from posthouse.server.event_relay.hub import Hub
from posthouse.server.lifecycle_events import News
from posthouse.server.meter import Meter
from posthouse.support.disk_check import DiskCheck
from posthouse.support.supervision import Supervisor
from posthouse.web import gauges as served
from posthouse.web import operators
from posthouse.web.exposition import Family
from posthouse.web.response_counter import Answers


class Operations:
    """One server, as its operators see it."""

    def __init__(
        self,
        journal: Journal,
        discovery: Discovery,
        hub: Hub,
        stopping: asyncio.Event,
        *,
        background: Supervisor,
        disk: DiskCheck,
    ) -> None:
        self._background = background
        self._disk = disk
        #: Who reads along.
        self.audience = Audience(journal)
        self.hub = hub
        self.answers = Answers()
        self._meter = Meter(journal)
        self._news = News(journal)
        self._discovery = discovery
        self._stopping = stopping

    def begin(self) -> None:
        """Take those who are there for known; from now on `look` tells what changes."""
        self._news.begin(self._discovery.roster, self._discovery.problems)
        self.hub.look(self._discovery.roster)

    def look(self) -> None:
        """Agents may have come or gone."""
        self._news.look(self._discovery.roster, self._discovery.problems)
        self.hub.look(self._discovery.roster)

    async def close(self) -> None:
        await self.hub.close()

    async def readiness(self) -> ServerReadiness:
        """Whether the server knows its agents, can write its records, and is not about to end."""
        disk_problem, discovery = await self._disk.problem(), self._discovery
        trouble = discovery.trouble or self._background.trouble or disk_problem
        reason = "the server is about to end" if self._stopping.is_set() else trouble
        return ServerReadiness(
            ready=reason is None,
            reason=reason,
            live_agents=len(discovery.roster.live),
            record_problems=len(discovery.problems),
            background_failures=operators.failures_of(self._background),
        )

    def metrics(self) -> list[Family]:
        """Every number there is."""
        return [
            *gauges.of_server(problems=len(self._discovery.problems), followed=self.hub.followed),
            gauges.of_agents(self._discovery.roster),
            *self._meter.families(),
            self.answers.family(),
            *served.of_audience(self.audience),
            *served.of_process(),
        ]

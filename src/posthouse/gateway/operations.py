"""What one gateway tells those who look after it: events, notices, numbers, and whether it is ready."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.contracts.gateway_operations_http import AgentWord, Readiness
from posthouse.events.journal import Journal
from posthouse.events.readers import Audience
from posthouse.gateway.metrics import gauges
from posthouse.gateway.metrics.meter import Meter
from posthouse.gateway.notifications import dispatcher
from posthouse.gateway.notifications.dispatcher import Teller
from posthouse.support.supervision import Supervisor
from posthouse.web import gauges as served
from posthouse.web import operators
from posthouse.web.exposition import Family

_CLOSED = {
    "blocked_unavailable": "the agent is not available",
    "blocked_reconciliation": "the agent was replaced, and nobody has decided what becomes of its work",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sights:
    """How the gateway stands, asked at every question."""

    status: Callable[[], GatewayStatus]
    #: What the TUI is believed to do; None for a headless agent.
    tui_state: Callable[[], str | None]
    #: Why nothing is given to the agent although requests are accepted; None when nothing keeps it.
    held_by: Callable[[], str | None]
    #: The background tasks: which of them have died, and which is down now.
    background: Supervisor
    #: Why nothing can be written to the disk now, so that nothing is accepted; None when it can.
    disk_problem: Callable[[], Awaitable[str | None]]


class Operations:
    """One gateway, as its operators see it."""

    def __init__(
        self, journal: Journal, log: logging.Logger, sights: Sights, tell_as: dispatcher.Surroundings | None
    ) -> None:
        self._sights = sights
        self._meter = Meter(journal)
        self.audience = Audience(journal)
        self._teller = (
            None if tell_as is None else Teller(tell_as, journal, self.audience, log, sights.background)
        )

    def start(self) -> None:
        """Begin to tell; before anything happens that is worth telling."""
        if self._teller is not None:
            self._teller.start()

    async def stop(self) -> None:
        self.audience.end()
        if self._teller is not None:
            await self._teller.stop()

    async def readiness(self) -> Readiness:
        """Whether a prompt would be accepted and carried out now, or right after what runs."""
        disk_problem = await self._sights.disk_problem()
        status, held_by = self._sights.status(), self._sights.held_by()
        agent = _agent(status, self._sights.tui_state(), is_held=held_by is not None)
        background = self._sights.background
        reason = _CLOSED.get(status.request_admission) or background.trouble or disk_problem or held_by
        if reason is None and agent == "blocked":
            reason = "the agent waits for somebody's answer to a dialog"
        return Readiness(
            ready=reason is None,
            reason=reason,
            request_admission=status.request_admission,
            agent=agent,
            queue_depth=status.queue_depth,
            background_failures=operators.failures_of(background),
        )

    def metrics(self) -> list[Family]:
        """Every number there is."""
        return [
            *gauges.of_status(self._sights.status(), self._sights.tui_state()),
            *self._meter.families(),
            *served.of_audience(self.audience),
            gauges.of_notices({} if self._teller is None else self._teller.attempts),
            *served.of_process(),
        ]


def _agent(status: GatewayStatus, tui_state: str | None, *, is_held: bool) -> AgentWord:
    if status.managed_agent_connectivity != "connected":
        return "unavailable"
    if is_held:
        return "limited"
    if tui_state == "blocked":
        return "blocked"
    return "busy" if status.active_execution == "running" or tui_state == "active" else "idle"

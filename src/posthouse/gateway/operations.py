"""The operator's view of one gateway: events, notifications, metrics and readiness."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.contracts.gateway_operations_http import AgentWord, Readiness
from posthouse.events.journal import Journal
from posthouse.events.readers import EventReaders
from posthouse.gateway.metrics import gauges
from posthouse.gateway.metrics.meter import EventMeter
from posthouse.gateway.notifications import dispatcher
from posthouse.gateway.notifications.dispatcher import NotificationDispatcher
from posthouse.support.supervision import Supervisor
from posthouse.web import gauges as served
from posthouse.web import operators
from posthouse.web.exposition import Family

_BLOCKED_REASONS = {
    "blocked_unavailable": "the agent is not available",
    "blocked_reconciliation": "the agent was replaced; its queued work needs a reconciliation decision",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayProbes:
    """Functions that return the current state of the gateway."""

    status: Callable[[], GatewayStatus]
    #: The inferred state of the TUI; None for a headless agent.
    tui_state: Callable[[], str | None]
    #: Why nothing is delivered to the agent although requests are accepted; None without a reason.
    hold_reason: Callable[[], str | None]
    #: The background tasks: which have failed, and which are down now.
    background: Supervisor
    #: Why the disk can't be written, so that nothing is accepted; None when it can.
    disk_problem: Callable[[], Awaitable[str | None]]


class Operations:
    """Events, notifications, metrics and readiness of one gateway."""

    def __init__(
        self,
        journal: Journal,
        log: logging.Logger,
        probes: GatewayProbes,
        notification_context: dispatcher.NotificationContext | None,
    ) -> None:
        self._probes = probes
        self._meter = EventMeter(journal)
        self.readers = EventReaders(journal)
        self._dispatcher = (
            None
            if notification_context is None
            else NotificationDispatcher(notification_context, journal, self.readers, log, probes.background)
        )

    def start(self) -> None:
        """Start notifications. Call before the first event."""
        if self._dispatcher is not None:
            self._dispatcher.start()

    async def stop(self) -> None:
        self.readers.stop()
        if self._dispatcher is not None:
            await self._dispatcher.stop()

    async def readiness(self) -> Readiness:
        """Whether a prompt would be accepted and run now, or right after the running one."""
        disk_problem = await self._probes.disk_problem()
        status, hold_reason = self._probes.status(), self._probes.hold_reason()
        agent = _agent(status, self._probes.tui_state(), is_held=hold_reason is not None)
        background = self._probes.background
        reason = (
            _BLOCKED_REASONS.get(status.request_admission)
            or background.current_problem
            or disk_problem
            or hold_reason
        )
        if reason is None and agent == "blocked":
            reason = "the agent waits for an answer to a dialog"
        return Readiness(
            ready=reason is None,
            reason=reason,
            request_admission=status.request_admission,
            agent=agent,
            queue_depth=status.queue_depth,
            background_failures=operators.failures_of(background),
        )

    def metrics(self) -> list[Family]:
        """All metrics of the gateway and its process."""
        return [
            *gauges.of_status(self._probes.status(), self._probes.tui_state()),
            *self._meter.families(),
            *served.of_readers(self.readers),
            gauges.of_notifications({} if self._dispatcher is None else self._dispatcher.attempts),
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

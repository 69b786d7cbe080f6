"""Which agent instance runs in the session, and whether it may receive work."""

import asyncio
import logging
from collections.abc import Callable

from posthouse.agent.adapter import AgentAdapter
from posthouse.errors import Conflict, Unavailable
from posthouse.gateway import reconciliation
from posthouse.gateway.status import Admission, admission_of
from posthouse.queue import Choice, EpochDecision, Instance, Queue


class InstanceTracker:
    """The instance observed last. Observations are serialized, so a stale one never replaces a newer one."""

    def __init__(
        self,
        queue: Queue,
        adapter: AgentAdapter,
        log: logging.Logger,
        *,
        on_decided: Callable[[EpochDecision], None],
    ) -> None:
        self._queue = queue
        self._adapter = adapter
        self._log = log
        self._on_decided = on_decided
        self._lock = asyncio.Lock()
        #: None before the first observation.
        self.instance: Instance | None = None

    async def load(self) -> None:
        """Load the last instance recorded by an earlier gateway."""
        self.instance = await self._queue.latest_instance()

    async def observe(self) -> None:
        """Record the instance that runs in the session, if there is one."""
        async with self._lock:
            current = self._adapter.status
            seen = None if self.instance is None else self.instance.instance_id
            if current.instance_id in (None, seen):
                return
            self.instance, decided = await self._queue.observe(current.instance_id, is_known=current.is_known)
            self._log.info("agent instance observed", extra={"epoch": self.instance.epoch})
            if decided is not None:
                self._on_decided(decided)

    async def admit(self) -> None:
        """Return when a request may be accepted now. Refreshes the state of an unavailable agent first.

        Raises:
            Conflict: `blocked_reconciliation`: the agent was replaced, and its work is not reconciled.
            Unavailable: `blocked_unavailable`: the agent is not available.
        """
        if self._admission() == "blocked_unavailable":
            await self._adapter.refresh()
        # An agent that was just replaced must not count as the old one.
        await self.observe()
        admission = self._admission()
        if admission == "blocked_reconciliation":
            raise Conflict(
                "the agent of this session was replaced; reconciliation must decide whether the new one "
                "gets the queued work",
                code="blocked_reconciliation",
            )
        if admission != "open":
            raise Unavailable(
                f"the agent is not available: {self._adapter.status.detail}", code="blocked_unavailable"
            )

    async def decide(self, choice: Choice, *, epoch: int | None) -> EpochDecision:
        """Decide whether the current agent gets the work queued for an earlier one.

        Raises:
            Conflict: It is decided already, or (`other_epoch`) the current instance is not that of *epoch*.
            QueueUnavailable: The disk write failed; nothing is decided.
        """
        async with self._lock:
            reconciliation.check(epoch, self.instance)
            decided = await self._queue.decide(choice)
            self.instance = decided.instance
        self._on_decided(decided)
        return decided

    def open_instance(self) -> Instance | None:
        """The instance that may receive work; None while the running one is not observed yet."""
        if self.instance is None or self._adapter.status.instance_id != self.instance.instance_id:
            return None
        return self.instance if self._admission() == "open" else None

    def _admission(self) -> Admission:
        return admission_of(self._adapter.status, self.instance)

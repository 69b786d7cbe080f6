"""Which agent instance stands behind the session, and whether it may be given work."""

import asyncio
import logging
from collections.abc import Callable

from posthouse.agent.adapter import AgentAdapter
from posthouse.errors import Conflict, Unavailable
from posthouse.gateway import reconciliation
from posthouse.gateway.status import Admission, admission_of
from posthouse.queue import Choice, Decided, Instance, Queue


class ReconciliationRequired(Conflict):
    """The agent was replaced and nobody decided yet what becomes of its work."""

    code = "blocked_reconciliation"


class AgentUnavailable(Unavailable):
    """The agent is not there to be asked."""

    code = "blocked_unavailable"


class Presence:
    """The instance that was observed last. One look at a time, so that an old one never covers a new one."""

    def __init__(
        self,
        queue: Queue,
        adapter: AgentAdapter,
        log: logging.Logger,
        *,
        on_decided: Callable[[Decided], None],
    ) -> None:
        self._queue = queue
        self._adapter = adapter
        self._log = log
        self._on_decided = on_decided
        self._looking = asyncio.Lock()
        #: None before the first.
        self.instance: Instance | None = None

    async def begin(self) -> None:
        """Take up what the last gateway observed."""
        self.instance = await self._queue.latest_instance()

    async def observe(self) -> None:
        """Record which instance stands behind the session, if one does."""
        async with self._looking:
            standing = self._adapter.standing
            seen = None if self.instance is None else self.instance.instance_id
            if standing.instance_id in (None, seen):
                return
            self.instance, decided = await self._queue.observe(
                standing.instance_id, is_known=standing.is_known
            )
            self._log.info("agent instance observed", extra={"epoch": self.instance.epoch})
            if decided is not None:
                self._on_decided(decided)

    async def admit(self) -> None:
        """Return when a request may be accepted now. An agent that came back unnoticed is noticed here.

        Raises:
            ReconciliationRequired: The agent was replaced.
            AgentUnavailable: The agent is not there.
        """
        if self._admission() == "blocked_unavailable":
            await self._adapter.look()
        # An agent that was replaced a moment ago must not pass for the old one.
        await self.observe()
        admission = self._admission()
        if admission == "blocked_reconciliation":
            raise ReconciliationRequired(
                "the agent behind this session was replaced; nobody has decided yet whether the new one "
                "gets its work"
            )
        if admission != "open":
            raise AgentUnavailable(f"the agent is not available: {self._adapter.standing.detail}")

    async def decide(self, choice: Choice, *, epoch: int | None) -> Decided:
        """Decide what the current agent gets of the work that waited for an earlier one.

        Raises:
            NothingToDecide: It is decided already.
            OtherEpoch: The decision is about another instance than that of *epoch*.
            QueueUnavailable: The disk said no; nothing is decided.
        """
        async with self._looking:
            reconciliation.check(epoch, self.instance)
            decided = await self._queue.decide(choice)
            self.instance = decided.instance
        self._on_decided(decided)
        return decided

    def open_instance(self) -> Instance | None:
        """The instance that may be given work; one that stands there but was not observed yet may not."""
        if self.instance is None or self._adapter.standing.instance_id != self.instance.instance_id:
            return None
        return self.instance if self._admission() == "open" else None

    def _admission(self) -> Admission:
        return admission_of(self._adapter.standing, self.instance)

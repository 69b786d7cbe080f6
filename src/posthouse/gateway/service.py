"""One gateway: what its routes call. It has its own queue, worker and adapter, and shares nothing."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from posthouse.contracts import gateway_files as gf
from posthouse.contracts.gateway_http import (
    AcceptedRequest,
    GatewayStatus,
    Health,
    InterruptRequest,
    RequestKind,
    SubmitPromptRequest,
)
from posthouse.errors import Conflict, InvalidInput, Unavailable
from posthouse.gateway.adapter import AgentAdapter
from posthouse.gateway.files import Journal, Publisher
from posthouse.gateway.status import Binding, Facts, derive, epoch_of
from posthouse.gateway.worker import Worker
from posthouse.queue import Accepted, Instance, Queue, Request


class ReconciliationRequired(Conflict):
    """The agent was replaced and nobody decided yet what becomes of its work."""

    code = "blocked_reconciliation"


class AgentUnavailable(Unavailable):
    """The agent is not there to be asked."""

    code = "blocked_unavailable"


class InvalidExecution(InvalidInput):
    """A TUI can't change its model for one prompt."""

    code = "invalid_execution"


class Gateway:
    """The gateway of one session."""

    def __init__(
        self,
        *,
        attach: gf.Attach,
        binding: Binding,
        queue: Queue,
        adapter: AgentAdapter,
        journal: Journal,
        publisher: Publisher,
        log: logging.Logger,
    ) -> None:
        self._attach = attach
        self._binding = binding
        self._queue = queue
        self._adapter = adapter
        self._journal = journal
        self._publisher = publisher
        self._log = log
        self._instance: Instance | None = None
        self._observing = asyncio.Lock()
        self._worker = Worker(
            queue, adapter, journal, log, open_epoch=self._open_epoch, on_change=self._changed
        )
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Look at the agent, publish, and begin to work. What was accepted earlier is carried on."""
        self._instance = await self._queue.latest_instance()
        await self._adapter.open(self._agent_changed)
        await self._observe()
        self._publisher.publish(self.status())
        self._spawn(self._worker.run())
        self._worker.wake()

    async def stop(self) -> None:
        """Stop working, say so in the files, close the queue. Accepted requests stay for the next start."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._adapter.close()
        await self._queue.close()
        self._publisher.retire(self._queue.counts.depth)
        self._journal.close()

    def health(self) -> Health:
        return Health()

    def status(self) -> GatewayStatus:
        """The status now. Touches no file and asks nobody."""
        return derive(
            Facts(
                attach=self._attach,
                binding=self._binding,
                standing=self._adapter.standing,
                instance=self._instance,
                counts=self._queue.counts,
                is_executing=self._worker.slot.locked(),
            )
        )

    async def submit(self, request: SubmitPromptRequest | InterruptRequest) -> AcceptedRequest:
        """Accept *request*. The answer means that it is on disk.

        Raises:
            ReconciliationRequired: The agent was replaced.
            AgentUnavailable: The agent is not there.
            InvalidExecution: It asks a TUI for another model.
            QueueUnavailable: The disk said no.
        """
        await self._admit()
        if isinstance(request, InterruptRequest):
            return await self._submit_interrupt(request)
        if request.payload.execution is not None and not self._adapter.is_headless:
            raise InvalidExecution("execution is for headless agents; this one is a TUI")
        accepted = await self._put(request, start=False)
        self._worker.wake()
        return accepted

    async def _submit_interrupt(self, request: InterruptRequest) -> AcceptedRequest:
        """Accept an interrupt; it acts at once on the turn that runs now, and waits in line without one."""
        turn = await self._adapter.running_turn()
        accepted = await self._put(request, start=turn is not None)
        if turn is not None:
            self._spawn(self._worker.interrupt(accepted.request_id, turn))
        self._worker.wake()
        return accepted

    async def _put(self, request: SubmitPromptRequest | InterruptRequest, *, start: bool) -> AcceptedRequest:
        epoch = epoch_of(self._instance)
        payload = request.payload.model_dump(mode="json")
        accepted = await self._queue.put(
            Request(kind=request.kind, payload=payload, epoch=epoch), start=start
        )
        self._journal.add(
            "accepted",
            request_id=accepted.request_id,
            request_kind=request.kind,
            accepted_at_utc=accepted.accepted_at_utc,
        )
        self._changed()
        return _answer(request.kind, accepted, epoch)

    async def _admit(self) -> None:
        """Return when a request may be accepted now. An agent that came back unnoticed is noticed here."""
        if self.status().request_admission == "blocked_unavailable":
            await self._adapter.look()
            await self._observe()
        admission = self.status().request_admission
        if admission == "blocked_reconciliation":
            raise ReconciliationRequired(
                "the agent behind this session was replaced; nobody has decided yet whether the new one "
                "gets its work"
            )
        if admission != "open":
            raise AgentUnavailable(f"the agent is not available: {self._adapter.standing.detail}")

    async def _observe(self) -> None:
        """Record which instance stands behind the session, if one does."""
        async with self._observing:
            standing = self._adapter.standing
            seen = None if self._instance is None else self._instance.instance_id
            if standing.instance_id in (None, seen):
                return
            self._instance = await self._queue.observe(standing.instance_id, is_known=standing.is_known)
            self._log.info("agent instance observed", extra={"epoch": self._instance.epoch})

    def _agent_changed(self) -> None:
        self._spawn(self._follow_agent())

    async def _follow_agent(self) -> None:
        await self._observe()
        self._changed()
        self._worker.wake()

    def _open_epoch(self) -> int | None:
        status = self.status()
        return status.managed_agent_instance_epoch if status.request_admission == "open" else None

    def _changed(self) -> None:
        self._publisher.changed(self.status())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("a task of the gateway failed", exc_info=error)


def _answer(kind: RequestKind, accepted: Accepted, epoch: int) -> AcceptedRequest:
    return AcceptedRequest(
        request_id=accepted.request_id,
        request_kind=kind,
        accepted_at_utc=accepted.accepted_at_utc,
        queue_depth=accepted.depth,
        managed_agent_instance_epoch=epoch,
    )

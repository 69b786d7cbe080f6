"""Accepts requests into the queue. An accepted request is on disk before it is acknowledged."""

from typing import Protocol

from posthouse.agent.adapter import RunningTurn
from posthouse.contracts.gateway_http import (
    AcceptedRequest,
    InterruptRequest,
    RequestKind,
    SubmitPromptRequest,
)
from posthouse.errors import InvalidInput
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.pending_turn import PendingTurn
from posthouse.queue import Accepted, IdempotencyKey, Request


class RequestExecutor(Protocol):
    """Runs accepted requests."""

    def wake(self) -> None:
        """Check the queue: a request was accepted."""

    async def interrupt(self, request_id: str, turn: RunningTurn) -> None:
        """Apply a started interrupt to *turn*, at once."""


class Intake:
    """Checks requests and adds them to one queue."""

    def __init__(self, gateway: GatewayContext, executor: RequestExecutor) -> None:
        self._gateway = gateway
        self._executor = executor

    async def submit(
        self, request: SubmitPromptRequest | InterruptRequest, key: IdempotencyKey | None = None
    ) -> AcceptedRequest:
        """Accept *request*. It is on disk when this returns.

        A repeated idempotency *key* returns the first response, whatever the state of the agent.

        Raises:
            Conflict, Unavailable: As `InstanceTracker.admit`.
            InvalidInput: `invalid_execution`: a TUI can't change its model for one prompt.
            InvalidInput: The key was used for a different request.
            QueueUnavailable: The disk write failed.
        """
        if key is not None and (first := await self._gateway.queue.find_accepted(key)) is not None:
            return _accepted_response(request.kind, first)
        await self._gateway.admit()
        if isinstance(request, InterruptRequest):
            return await self._submit_interrupt(request, key)
        if request.payload.execution is not None and not self._gateway.adapter.is_headless:
            raise InvalidInput(
                "execution is for headless agents; this one is a TUI", code="invalid_execution"
            )
        accepted = await self._put(request, key, start=False)
        self._executor.wake()
        return _accepted_response(request.kind, accepted)

    async def _submit_interrupt(
        self, request: InterruptRequest, key: IdempotencyKey | None
    ) -> AcceptedRequest:
        """Accept an interrupt; it acts at once on the running turn, and is queued without one."""
        adapter, slot = self._gateway.adapter, self._gateway.slot
        pending = PendingTurn(adapter, slot) if slot.work_number is not None else None
        turn = await adapter.running_turn() or pending
        accepted = await self._put(request, key, start=turn is not None)
        if turn is not None and not accepted.is_repeat:
            self._gateway.spawn(self._executor.interrupt(accepted.request_id, turn))
        self._executor.wake()
        return _accepted_response(request.kind, accepted)

    async def _put(
        self, request: SubmitPromptRequest | InterruptRequest, key: IdempotencyKey | None, *, start: bool
    ) -> Accepted:
        payload = request.payload.model_dump(mode="json")
        accepted = await self._gateway.queue.put(
            Request(kind=request.kind, payload=payload, epoch=self._gateway.epoch()), start=start, key=key
        )
        if accepted.is_repeat:
            return accepted
        self._gateway.journal.add(
            "accepted",
            request_id=accepted.request_id,
            request_kind=request.kind,
            accepted_at_utc=accepted.accepted_at_utc,
        )
        self._gateway.receipts.ledger.emit(accepted.request_id, "accepted")
        if start:
            self._gateway.receipts.ledger.emit(accepted.request_id, "started")
        self._gateway.notify_changed()
        return accepted


def _accepted_response(kind: RequestKind, accepted: Accepted) -> AcceptedRequest:
    return AcceptedRequest(
        request_id=accepted.request_id,
        request_kind=kind,
        accepted_at_utc=accepted.accepted_at_utc,
        queue_depth=accepted.depth,
        managed_agent_instance_epoch=accepted.epoch,
    )

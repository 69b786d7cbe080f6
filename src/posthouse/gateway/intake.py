"""Accepting requests for the queue. What was answered is on disk."""

from typing import Protocol

from posthouse.agent.adapter import RunningTurn
from posthouse.contracts.gateway_http import (
    AcceptedRequest,
    InterruptRequest,
    RequestKind,
    SubmitPromptRequest,
)
from posthouse.errors import InvalidInput
from posthouse.gateway.context import Surroundings
from posthouse.gateway.pending_turn import Beginning
from posthouse.queue import Accepted, Key, Request


class InvalidExecution(InvalidInput):
    """A TUI can't change its model for one prompt."""

    code = "invalid_execution"


class Carrier(Protocol):
    """Whoever carries out what was accepted."""

    def wake(self) -> None:
        """Something was accepted."""

    async def interrupt(self, request_id: str, turn: RunningTurn) -> None:
        """Carry out a running interrupt on *turn*, at once."""


class Intake:
    """The door to one queue."""

    def __init__(self, gateway: Surroundings, carrier: Carrier) -> None:
        self._gateway = gateway
        self._carrier = carrier

    async def submit(
        self, request: SubmitPromptRequest | InterruptRequest, key: Key | None = None
    ) -> AcceptedRequest:
        """Accept *request*. The answer means that it is on disk.

        Under a *key* that was used before, the first answer is given again, however the agent is by now.

        Raises:
            ReconciliationRequired: The agent was replaced.
            AgentUnavailable: The agent is not there.
            InvalidExecution: It asks a TUI for another model.
            KeyReused: Something else was asked under the key.
            QueueUnavailable: The disk said no.
        """
        if key is not None and (first := await self._gateway.queue.repeated(key)) is not None:
            return _answer(request.kind, first)
        await self._gateway.admit()
        if isinstance(request, InterruptRequest):
            return await self._submit_interrupt(request, key)
        if request.payload.execution is not None and not self._gateway.adapter.is_headless:
            raise InvalidExecution("execution is for headless agents; this one is a TUI")
        accepted = await self._put(request, key, start=False)
        self._carrier.wake()
        return _answer(request.kind, accepted)

    async def _submit_interrupt(self, request: InterruptRequest, key: Key | None) -> AcceptedRequest:
        """Accept an interrupt; it acts at once on the turn that runs now, and waits in line without one."""
        adapter, slot = self._gateway.adapter, self._gateway.slot
        begun = Beginning(adapter, slot) if slot.work_number is not None else None
        turn = await adapter.running_turn() or begun
        accepted = await self._put(request, key, start=turn is not None)
        if turn is not None and not accepted.is_repeat:
            self._gateway.spawn(self._carrier.interrupt(accepted.request_id, turn))
        self._carrier.wake()
        return _answer(request.kind, accepted)

    async def _put(
        self, request: SubmitPromptRequest | InterruptRequest, key: Key | None, *, start: bool
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
        self._gateway.book.ledger.tell(accepted.request_id, "accepted")
        if start:
            self._gateway.book.ledger.tell(accepted.request_id, "started")
        self._gateway.changed()
        return accepted


def _answer(kind: RequestKind, accepted: Accepted) -> AcceptedRequest:
    return AcceptedRequest(
        request_id=accepted.request_id,
        request_kind=kind,
        accepted_at_utc=accepted.accepted_at_utc,
        queue_depth=accepted.depth,
        managed_agent_instance_epoch=accepted.epoch,
    )

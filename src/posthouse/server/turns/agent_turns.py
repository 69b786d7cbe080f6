"""Turns that the server runs with one agent: one at a time, recorded before the start, started once."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from msgspec import structs

from posthouse.agent.adapter import Prompt
from posthouse.contracts import managed_agent_files as mf
from posthouse.errors import Conflict, PosthouseError, Unavailable
from posthouse.server.gateways import BadGatewayResponse, GatewayLost, LiveGateway
from posthouse.server.turns import admission, artifacts, turn_start
from posthouse.server.turns.agent_history import AgentHistory
from posthouse.server.turns.follower import GATEWAY_REQUEST, TurnFollower
from posthouse.sessions.session import Session
from posthouse.support import crashpoints
from posthouse.turns.runner import TurnActive, new_turn_id
from posthouse.turns.turn_order import Order

T = TypeVar("T")

#: Diagnostics key of a turn that a gateway submitted; the gateway retries without a response.
FROM_GATEWAY = "asked_by_gateway"
#: Error code: the agent accepts no request now; nothing was started.
NOT_OPERABLE = "agent_not_operable"
_KILLED = "the server was killed before it started the turn"


class AgentTurns:
    """One agent's turns. Operations complete even when their caller is cancelled."""

    def __init__(self, book: AgentHistory, follower: TurnFollower) -> None:
        self.history = book
        self._follower = follower

    async def recover(self) -> None:
        """Reconcile the turns that an earlier server left, and follow those that still run."""
        async with self._follower.lock:
            await self.history.recover()
            for record in (self.history.active, self.history.waiting):
                if record is not None:
                    await self._recover(record)

    async def submit(
        self, session: Session, prompt: Prompt, *, is_from_gateway: bool = False
    ) -> mf.TurnRecord:
        """Start a turn. The turn id is an idempotency key: a second call does not start it again.

        With *asked_by_gateway* the gateway retries if this process dies before the turn starts.

        Raises:
            TurnActive: Another turn is in progress; nothing was recorded.
            InvalidInput, PromptFailed: The prompt is invalid; nothing was recorded.
            Unavailable: The session's terminal is missing, or the program did not start.
        """
        return await self._shielded(self._submit(session, prompt, is_from_gateway=is_from_gateway))

    async def admit(self, session: Session, prompt: Prompt, gateway: LiveGateway) -> mf.TurnRecord:
        """Record a turn and submit it to the agent's gateway, which starts it when its turn comes.

        Raises:
            As `submit` and `admission.submit`; after an error the turn never starts.
        """
        return await self._shielded(self._admit(session, prompt, gateway))

    async def interrupt(self, session: Session | None) -> mf.TurnRecord | None:
        """Interrupt the running turn of any process, or cancel the waiting one; None: neither exists."""
        return await self._shielded(self._interrupt(session))

    async def close(self) -> None:
        await self._follower.close()

    async def _recover(self, record: mf.TurnRecord) -> None:
        is_ordered = await asyncio.to_thread(artifacts.is_ordered, record)
        if is_ordered or GATEWAY_REQUEST in record.diagnostics:
            self._follower.follow(record)
        elif FROM_GATEWAY in record.diagnostics:
            await self.history.drop(record)
        elif await self._follower.cancel(record, _KILLED) is None:
            self._follower.follow(record)

    async def _submit(self, session: Session, prompt: Prompt, *, is_from_gateway: bool) -> mf.TurnRecord:
        async with self._follower.lock:
            known = await self.history.find(prompt.turn_id, session) if prompt.turn_id else None
            if known and not await self._is_startable(known):
                return known
            # The gateway's queue defines the order, so its turn precedes the waiting one.
            await self._require_idle(session, include_waiting=not is_from_gateway)
            order = await asyncio.to_thread(turn_start.create_order, session, prompt)
            if known:
                return await self._start(session, structs.replace(known, turn_index=order.turn_index), order)
            record = artifacts.new_record(self.history.agent, session, order.turn_id, order.turn_index)
            if is_from_gateway:
                record = structs.replace(record, diagnostics={FROM_GATEWAY: "true"})
            await self.history.begin(record)
            crashpoints.reach("turn recorded")
            return await self._start(session, record, order)

    async def _admit(self, session: Session, prompt: Prompt, gateway: LiveGateway) -> mf.TurnRecord:
        turn_id = new_turn_id()
        async with self._follower.lock:
            await self._require_idle(session, include_waiting=True)
            index = await asyncio.to_thread(turn_start.next_index, session, prompt)
            record = artifacts.new_record(self.history.agent, session, turn_id, index)
            await self.history.wait(record)
            crashpoints.reach("turn recorded")
            try:
                request_id = await admission.submit(gateway, replace(prompt, turn_id=turn_id))
            except (GatewayLost, BadGatewayResponse) as error:
                if not await self._has_started(record, str(error)):
                    raise
                return record
            except PosthouseError:
                await self.history.drop(record)
                raise
            record = structs.replace(record, diagnostics={GATEWAY_REQUEST: request_id})
            # The gateway has the turn now; a restarted server cancels a turn without a request id.
            self.history.waiting = record
            self._follower.follow(record)
            with suppress(OSError):  # it is accepted: an error response now would be wrong
                await self.history.wait(record)
            crashpoints.reach("turn admitted")
        return record

    async def _has_started(self, record: mf.TurnRecord, reason: str) -> bool:
        """Whether a turn whose gateway did not answer has started; otherwise it is cancelled."""
        try:
            has_started = await self._follower.cancel(record, reason) is None
        except TurnActive:  # a turn is being started: the follower finds out whether it is this one
            self._follower.follow(record)
            return False
        if has_started:
            self._follower.follow(record)
        return has_started

    async def _interrupt(self, session: Session | None) -> mf.TurnRecord | None:
        async with (
            self._follower.lock
        ):  # a turn that is being started has no artifacts yet, so it can't be interrupted
            running = await self.history.running(session)
            if running is None:
                return None
            if not await asyncio.to_thread(artifacts.is_ordered, running):
                return await self._cancel_waiting(running)
            if not await asyncio.to_thread(artifacts.turn_of(running).interrupt):
                return None
            now = await asyncio.to_thread(artifacts.refresh, running)
            if self.history.active is not None and self.history.active.turn_id == now.turn_id:
                await self.history.mark(now)
            return now

    async def _cancel_waiting(self, waiting: mf.TurnRecord) -> mf.TurnRecord:
        final = await self._follower.cancel(waiting, "it was interrupted before it started", on_request=True)
        if final is None:  # its gateway started it first
            await asyncio.to_thread(artifacts.turn_of(waiting).interrupt)
            return await asyncio.to_thread(artifacts.refresh, waiting)
        request_id = waiting.diagnostics.get(GATEWAY_REQUEST)
        with suppress(PosthouseError):  # otherwise the gateway finds the cancelled turn later
            gateway = await self._follower.gateway() if request_id else None
            if gateway is not None and request_id is not None:
                await admission.cancel(gateway, request_id)
        return final

    async def _require_idle(self, session: Session, *, include_waiting: bool) -> None:
        """Raises:
        TurnActive: A turn is in progress.
        """
        if self.history.active is not None:
            await self._follower.finish_if_over(self.history.active)
        waiting = self.history.waiting
        if waiting is not None and include_waiting and await self._follower.gateway() is None:
            await self._follower.cancel(waiting, "its gateway ended before it started the turn")
        running = self.history.active or (self.history.waiting if include_waiting else None)
        running = running or await self.history.running_elsewhere(session)
        if running is not None:
            raise TurnActive(f"turn {running.turn_id} is in progress; wait for it or interrupt it")

    async def _start(self, session: Session, record: mf.TurnRecord, order: Order) -> mf.TurnRecord:
        try:
            await asyncio.to_thread(turn_start.start, session, order)
        except (Conflict, Unavailable):
            await self._handle_failed_start(record)
            raise
        except (OSError, PosthouseError) as error:
            await self._handle_failed_start(record)
            raise Unavailable(str(error), code=NOT_OPERABLE) from error
        self._follower.follow(record)  # first, so that its end is recorded even if the next write fails
        running = await asyncio.to_thread(artifacts.refresh, record)
        with suppress(OSError):  # it runs: an error response now would be wrong
            await (self.history.promote(running) if self._is_waiting(record) else self.history.mark(running))
        self._follower.emit_started(running)
        return running

    async def _is_startable(self, known: mf.TurnRecord) -> bool:
        """Whether the turn is the waiting one and has not started."""
        if known.is_final or not self._is_waiting(known):
            return False
        return not await asyncio.to_thread(artifacts.is_ordered, known)

    def _is_waiting(self, record: mf.TurnRecord) -> bool:
        return self.history.waiting is not None and self.history.waiting.turn_id == record.turn_id

    async def _handle_failed_start(self, record: mf.TurnRecord) -> None:
        if await asyncio.to_thread(artifacts.is_ordered, record):
            self._follower.follow(record)
        elif GATEWAY_REQUEST not in record.diagnostics:
            await self.history.drop(record)

    async def _shielded(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of *work*, which completes even when its caller is cancelled.

        Raises:
            Unavailable: The disk refused.
        """
        try:
            return await asyncio.shield(self._follower.spawn(work))
        except OSError as error:
            raise Unavailable(f"the server can't write its records: {error}", code=NOT_OPERABLE) from error

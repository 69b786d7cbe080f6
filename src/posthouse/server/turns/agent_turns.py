"""The turns that the server takes with one agent: one at a time, recorded first, started once."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from msgspec import structs

from posthouse.agent.adapter import Prompt
from posthouse.contracts import managed_agent_files as mf
from posthouse.errors import Conflict, PosthouseError, Unavailable
from posthouse.server.gateways import GatewayGarbled, GatewayLost, LiveGateway
from posthouse.server.turns import admission, artifacts, turn_start
from posthouse.server.turns.agent_history import Book
from posthouse.server.turns.follower import GATEWAY_REQUEST, Follower
from posthouse.sessions.session import Session
from posthouse.support import crashpoints
from posthouse.turns.runner import TurnActive, new_turn_id
from posthouse.turns.turn_order import Order

T = TypeVar("T")

#: In a record's diagnostics: a gateway asked for this turn, and asks again when it hears nothing.
ASKED_BY_GATEWAY = "asked_by_gateway"
_KILLED = "the server was killed before it could start it"


class NotOperable(Unavailable):
    """The agent can't take a turn now; none was started."""

    code = "agent_not_operable"


class AgentTurns:
    """One agent's turns. Whoever asks may go away: what was begun is finished."""

    def __init__(self, book: Book, follower: Follower) -> None:
        self.book = book
        self._follower = follower

    async def recover(self) -> None:
        """Find out what became of the turns that an earlier server left, and follow those that go on."""
        async with self._follower.lock:
            await self.book.recover()
            for record in (self.book.active, self.book.waiting):
                if record is not None:
                    await self._recover(record)

    async def submit(
        self, session: Session, prompt: Prompt, *, asked_by_gateway: bool = False
    ) -> mf.TurnRecord:
        """Have a turn started here. Asked again with the same turn id, it is not started again.

        With *asked_by_gateway* somebody asks again when this process dies before the turn has begun.

        Raises:
            TurnActive: Another turn is in progress; nothing was recorded.
            InvalidInput, NoCurrentChat: It can't be taken as asked; nothing was recorded.
            Unavailable: The session's terminal is not there, or the program did not start.
        """
        return await self._surely(self._submit(session, prompt, asked_by_gateway=asked_by_gateway))

    async def admit(self, session: Session, prompt: Prompt, gateway: LiveGateway) -> mf.TurnRecord:
        """Have a turn recorded here and accepted by the agent's gateway, which begins it when it may.

        Raises:
            And as `submit`, or `admission.ask`; nothing is left then that could begin later.
        """
        return await self._surely(self._admit(session, prompt, gateway))

    async def interrupt(self, session: Session | None) -> mf.TurnRecord | None:
        """Interrupt the turn that runs, whoever started it, or call off the one that waits; None: neither."""
        return await self._surely(self._interrupt(session))

    async def close(self) -> None:
        await self._follower.close()

    async def _recover(self, record: mf.TurnRecord) -> None:
        is_ordered = await asyncio.to_thread(artifacts.is_ordered, record)
        if is_ordered or GATEWAY_REQUEST in record.diagnostics:
            self._follower.follow(record)
        elif ASKED_BY_GATEWAY in record.diagnostics:
            await self.book.drop(record)
        elif await self._follower.call_off(record, _KILLED) is None:
            self._follower.follow(record)

    async def _submit(self, session: Session, prompt: Prompt, *, asked_by_gateway: bool) -> mf.TurnRecord:
        async with self._follower.lock:
            known = await self.book.find(prompt.turn_id, session) if prompt.turn_id else None
            if known and not await self._is_to_begin(known):
                return known
            # What a gateway asks for goes before what waits there: its queue has the order.
            await self._require_idle(session, minds_waiting=not asked_by_gateway)
            order = await asyncio.to_thread(turn_start.ordered, session, prompt)
            if known:
                return await self._start(session, structs.replace(known, turn_index=order.turn_index), order)
            record = artifacts.new_record(self.book.agent, session, order.turn_id, order.turn_index)
            if asked_by_gateway:
                record = structs.replace(record, diagnostics={ASKED_BY_GATEWAY: "true"})
            await self.book.begin(record)
            crashpoints.reach("turn recorded")
            return await self._start(session, record, order)

    async def _admit(self, session: Session, prompt: Prompt, gateway: LiveGateway) -> mf.TurnRecord:
        turn_id = new_turn_id()
        async with self._follower.lock:
            await self._require_idle(session, minds_waiting=True)
            index = await asyncio.to_thread(turn_start.next_index, session, prompt)
            record = artifacts.new_record(self.book.agent, session, turn_id, index)
            await self.book.wait(record)
            crashpoints.reach("turn recorded")
            try:
                request_id = await admission.ask(gateway, replace(prompt, turn_id=turn_id))
            except (GatewayLost, GatewayGarbled) as error:
                if not await self._has_begun(record, str(error)):
                    raise
                return record
            except PosthouseError:
                await self.book.drop(record)
                raise
            record = structs.replace(record, diagnostics={GATEWAY_REQUEST: request_id})
            # From here on the gateway has it; a server that finds no id of it calls it off.
            self.book.waiting = record
            self._follower.follow(record)
            with suppress(OSError):  # it is accepted: a refusal now would be followed by its answer
                await self.book.wait(record)
            crashpoints.reach("turn admitted")
        return record

    async def _has_begun(self, record: mf.TurnRecord, reason: str) -> bool:
        """Whether a turn whose gateway did not answer has begun all the same; otherwise it never does."""
        try:
            has_begun = await self._follower.call_off(record, reason) is None
        except TurnActive:  # somebody is starting a turn: whether it is this one is found out in a moment
            self._follower.follow(record)
            return False
        if has_begun:
            self._follower.follow(record)
        return has_begun

    async def _interrupt(self, session: Session | None) -> mf.TurnRecord | None:
        async with self._follower.lock:  # a turn that is being started has no artifacts to be interrupted by
            running = await self.book.running(session)
            if running is None:
                return None
            if not await asyncio.to_thread(artifacts.is_ordered, running):
                return await self._call_off_waiting(running)
            if not await asyncio.to_thread(artifacts.turn_of(running).interrupt):
                return None
            now = await asyncio.to_thread(artifacts.seen, running)
            if self.book.active is not None and self.book.active.turn_id == now.turn_id:
                await self.book.mark(now)
            return now

    async def _call_off_waiting(self, waiting: mf.TurnRecord) -> mf.TurnRecord:
        final = await self._follower.call_off(waiting, "it was interrupted before it began", on_request=True)
        if final is None:  # its gateway was quicker
            await asyncio.to_thread(artifacts.turn_of(waiting).interrupt)
            return await asyncio.to_thread(artifacts.seen, waiting)
        request_id = waiting.diagnostics.get(GATEWAY_REQUEST)
        with suppress(PosthouseError):  # it would only find out later that the turn was called off
            gateway = await self._follower.gateway() if request_id else None
            if gateway is not None and request_id is not None:
                await admission.take_back(gateway, request_id)
        return final

    async def _require_idle(self, session: Session, *, minds_waiting: bool) -> None:
        """Raises:
        TurnActive: A turn is in progress.
        """
        if self.book.active is not None:
            await self._follower.finish_if_over(self.book.active)
        waiting = self.book.waiting
        if waiting is not None and minds_waiting and await self._follower.gateway() is None:
            await self._follower.call_off(waiting, "its gateway ended before it began it")
        running = self.book.active or (self.book.waiting if minds_waiting else None)
        running = running or await self.book.of_others(session)
        if running is not None:
            raise TurnActive(f"turn {running.turn_id} is in progress; wait for it or interrupt it")

    async def _start(self, session: Session, record: mf.TurnRecord, order: Order) -> mf.TurnRecord:
        try:
            await asyncio.to_thread(turn_start.start, session, order)
        except (Conflict, Unavailable):
            await self._did_not_start(record)
            raise
        except (OSError, PosthouseError) as error:
            await self._did_not_start(record)
            raise NotOperable(str(error)) from error
        self._follower.follow(record)  # first: whatever the disk says now, its end is recorded
        running = await asyncio.to_thread(artifacts.seen, record)
        with suppress(OSError):  # it runs: a refusal now would be followed by its answer
            await (self.book.promote(running) if self._is_waiting(record) else self.book.mark(running))
        self._follower.began(running)
        return running

    async def _is_to_begin(self, known: mf.TurnRecord) -> bool:
        """Whether a turn is the one that waits, so that whoever asks for it has it started."""
        if known.is_final or not self._is_waiting(known):
            return False
        return not await asyncio.to_thread(artifacts.is_ordered, known)

    def _is_waiting(self, record: mf.TurnRecord) -> bool:
        return self.book.waiting is not None and self.book.waiting.turn_id == record.turn_id

    async def _did_not_start(self, record: mf.TurnRecord) -> None:
        if await asyncio.to_thread(artifacts.is_ordered, record):
            self._follower.follow(record)
        elif GATEWAY_REQUEST not in record.diagnostics:
            await self.book.drop(record)

    async def _surely(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of *work*, which goes on when its caller does not wait for it any more.

        Raises:
            NotOperable: The disk refused.
        """
        try:
            return await asyncio.shield(self._follower.spawn(work))
        except OSError as error:
            raise NotOperable(f"the server can't keep its records: {error}") from error

"""The turns that the server takes with one agent: one at a time, recorded first, started once, followed."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from msgspec import structs

from posthouse.contracts import managed_agent_files as mf
from posthouse.coordination.turns import starting, telling
from posthouse.coordination.turns.book import Book
from posthouse.driving.adapter import Prompt
from posthouse.errors import Conflict, PosthouseError, Unavailable
from posthouse.sessions.session import Session
from posthouse.support import crashpoints
from posthouse.turns import runner
from posthouse.turns.order import Order
from posthouse.turns.runner import TurnActive

T = TypeVar("T")

#: Hears of a turn that began or ended: the kind of event, and its record.
Tell = Callable[[str, mf.TurnRecord], None]
#: In a record's diagnostics: the gateway asked for this turn, and asks again when it hears nothing.
ASKED_BY_GATEWAY = "asked_by_gateway"
_RETRY_SECONDS = 1.0
_LAST_RETRY_SECONDS = 30.0


class NotOperable(Unavailable):
    """The agent can't take a turn now; none was started."""

    code = "agent_not_operable"


class AgentTurns:
    """One agent's turns. Whoever asks goes away without consequence: what was begun is finished."""

    def __init__(self, book: Book, log: logging.Logger, tell: Tell) -> None:
        self.book = book
        self._log = log
        self._tell = tell
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def recover(self) -> None:
        """Find out what became of the turn that an earlier server left, and follow it if it still runs."""
        async with self._lock:
            record = await self.book.unfinished()
            if record is None:
                return
            self.book.active = record
            if await asyncio.to_thread(telling.is_ordered, record):
                self._follow(record)
            elif ASKED_BY_GATEWAY in record.diagnostics:
                await self.book.drop(record)
            else:
                await self._never(record, "the server was killed before it could start it")

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

    async def interrupt(self, session: Session | None) -> mf.TurnRecord | None:
        """Interrupt the turn that runs, whoever started it; None when none does."""
        return await self._surely(self._interrupt(session))

    async def close(self) -> None:
        """Stop following. Turns go on; the next server finds them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _submit(self, session: Session, prompt: Prompt, *, asked_by_gateway: bool) -> mf.TurnRecord:
        async with self._lock:
            known = prompt.turn_id and await self.book.find(prompt.turn_id, session)
            if known:
                return known
            await self._require_idle(session)
            order = await asyncio.to_thread(starting.ordered, session, prompt)
            record = telling.new_record(self.book.agent, session, order.turn_id, order.turn_index)
            if asked_by_gateway:
                record = structs.replace(record, diagnostics={ASKED_BY_GATEWAY: "true"})
            await self.book.begin(record)
            crashpoints.reach("turn recorded")
            return await self._start(session, record, order)

    async def _interrupt(self, session: Session | None) -> mf.TurnRecord | None:
        async with self._lock:  # a turn that is being started has no artifacts to be interrupted by
            running = await self.book.running(session)
            if running is None or not await asyncio.to_thread(telling.turn_of(running).interrupt):
                return None
            now = await asyncio.to_thread(telling.seen, running)
            if self.book.active is not None and self.book.active.turn_id == now.turn_id:
                await self.book.mark(now)
            return now

    async def _require_idle(self, session: Session) -> None:
        """Raises:
        TurnActive: A turn is in progress.
        """
        if self.book.active is not None:
            await self._finish_if_over(self.book.active)
        running = await self.book.running(session)
        if running is not None:
            raise TurnActive(f"turn {running.turn_id} is in progress; wait for it or interrupt it")

    async def _start(self, session: Session, record: mf.TurnRecord, order: Order) -> mf.TurnRecord:
        try:
            await asyncio.to_thread(starting.start, session, order)
        except (Conflict, Unavailable):
            await self._did_not_start(record)
            raise
        except PosthouseError as error:
            await self._did_not_start(record)
            raise NotOperable(str(error)) from error
        running = await asyncio.to_thread(telling.seen, record)
        await self.book.mark(running)
        self._tell("turn_started", running)
        self._follow(running)
        return running

    async def _did_not_start(self, record: mf.TurnRecord) -> None:
        if not await asyncio.to_thread(telling.is_ordered, record):
            await self.book.drop(record)
        elif not await self._finish_if_over(record):
            self._follow(record)

    async def _finish_if_over(self, record: mf.TurnRecord) -> bool:
        """Record the end of the active turn if there is one. The lock is held."""
        final = await asyncio.to_thread(starting.ended, record)
        if not final.is_final:
            return False
        await self.book.end(final)
        self._tell("turn_ended", final)
        return True

    async def _never(self, record: mf.TurnRecord, reason: str) -> None:
        await self.book.end(telling.never_begun(record, reason))
        self._tell("turn_ended", record)

    def _follow(self, record: mf.TurnRecord) -> None:
        self._spawn(self._followed(record))

    async def _followed(self, record: mf.TurnRecord) -> None:
        """Wait for the end of a turn, and record it; a disk that refuses is asked again."""
        delay = _RETRY_SECONDS
        while True:
            try:
                state = await telling.turn_of(record).ended()
                if state.status == "unknown":
                    await asyncio.to_thread(runner.settle, telling.turn_of(record).folder.path.parent)
                    continue
                async with self._lock:
                    active = self.book.active
                    if active is not None and active.turn_id == record.turn_id:
                        await self._finish_if_over(active)
                return
            except (OSError, PosthouseError) as error:
                self._log.error(
                    "the end of a turn can't be recorded; trying again",
                    extra={"turn_id": record.turn_id, "error": str(error)},
                )
            await asyncio.sleep(delay)
            delay = min(delay * 2, _LAST_RETRY_SECONDS)

    async def _surely(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of *work*, which goes on when its caller does not wait for it any more."""
        return await asyncio.shield(self._spawn(work))

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

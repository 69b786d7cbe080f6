"""Follows turns to their ends and records them: those that run, and those that a gateway keeps waiting."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from posthouse.contracts import managed_agent_files as mf
from posthouse.errors import PosthouseError, Unavailable
from posthouse.server.gateways import LiveGateway
from posthouse.server.turns import admission, artifacts, turn_start
from posthouse.server.turns.agent_history import Book
from posthouse.support.supervision import Supervisor
from posthouse.turns import runner

T = TypeVar("T")

#: Hears of a turn that began or ended: the kind of event, and its record.
Tell = Callable[[str, mf.TurnRecord], None]
#: The live gateway of the agent that is followed, or None.
FindGateway = Callable[[], Awaitable[LiveGateway | None]]
#: In a record's diagnostics: what the gateway calls the request for this turn.
GATEWAY_REQUEST = "gateway_request_id"
_RETRY_SECONDS = 1.0
_LAST_RETRY_SECONDS = 30.0


class NoGatewayNow(Unavailable):
    """Nobody can be asked about a turn that waits."""

    code = "no_gateway_now"


class Follower:
    """Sees to it that every turn of one book gets its last record. The lock is the agent's own."""

    def __init__(
        self,
        book: Book,
        log: logging.Logger,
        tell: Tell,
        gateway: FindGateway,
        background: Supervisor | None = None,
    ) -> None:
        self._background = background or Supervisor(log)
        self.lock = asyncio.Lock()
        self.gateway = gateway
        self._book = book
        self._log = log
        self._tell = tell
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def follow(self, record: mf.TurnRecord) -> None:
        """Record the end of *record* when it comes; whoever waited for its beginning need not any more."""
        before = self._followed.get(record.turn_id)
        if before is not None:
            before.cancel()
        task = self._background.keep(f"turn {record.turn_id}", partial(self._to_the_end, record))
        self._followed[record.turn_id] = task
        task.add_done_callback(lambda ended: self._forget(record.turn_id, ended))

    def began(self, record: mf.TurnRecord) -> None:
        self._tell("turn_started", record)

    async def finish_if_over(self, record: mf.TurnRecord) -> bool:
        """Record the end of a turn if it has come. The caller holds the lock."""
        final = await asyncio.to_thread(turn_start.ended, record)
        if not final.is_final:
            return False
        await self._book.end(final)
        self._tell("turn_ended", final)
        return True

    async def call_off(
        self, record: mf.TurnRecord, reason: str, *, on_request: bool = False
    ) -> mf.TurnRecord | None:
        """Make sure that a turn which has not begun never does. None: it has. The caller holds the lock.

        Raises:
            TurnActive: Another turn is being started, so that nobody can say.
        """
        folder = artifacts.turn_of(record).folder.path
        if not await asyncio.to_thread(runner.forbid, folder.parent, record.turn_id):
            return None
        final = artifacts.never_begun(record, reason, on_request=on_request)
        await self._book.end(final)
        self._tell("turn_ended", final)
        return final

    def _forget(self, turn_id: str, ended: "asyncio.Task[None]") -> None:
        if self._followed.get(turn_id) is ended:
            del self._followed[turn_id]

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Stop following. Turns go on; the next server finds them."""
        tasks = [*self._tasks, *self._followed.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _to_the_end(self, record: mf.TurnRecord) -> None:
        delay = _RETRY_SECONDS
        while True:
            try:
                if await self._looked_after(record):
                    return
                delay = _RETRY_SECONDS
                continue
            except NoGatewayNow:
                pass  # it may be back any time; until then there is nothing to tell
            except (OSError, PosthouseError) as error:
                told = {"turn_id": record.turn_id, "error": str(error)}
                self._log.warning("a turn can't be followed; trying again", extra=told)
            await asyncio.sleep(delay)
            delay = min(delay * 2, _LAST_RETRY_SECONDS)

    async def _looked_after(self, record: mf.TurnRecord) -> bool:
        """Wait for the next thing to happen to a turn. True: it is over and recorded."""
        if not await asyncio.to_thread(artifacts.is_ordered, record):
            return await self._waited(record)
        await self._promote(record)
        turn = artifacts.turn_of(record)
        if (await turn.ended()).status == "unknown":
            await asyncio.to_thread(runner.settle, turn.folder.path.parent)
            return False
        async with self.lock:
            active = self._book.active
            return active is None or active.turn_id != record.turn_id or await self.finish_if_over(active)

    async def _promote(self, record: mf.TurnRecord) -> None:
        """A gateway may have begun the turn without asking here."""
        async with self.lock:
            waiting = self._book.waiting
            if waiting is not None and waiting.turn_id == record.turn_id:
                running = await asyncio.to_thread(artifacts.seen, waiting)
                await self._book.promote(running)
                self.began(running)

    async def _waited(self, record: mf.TurnRecord) -> bool:
        """Wait until the gateway has begun a turn, or never will. True: it won't, and that is recorded."""
        reason = await self._why_never(record)
        if reason is None:
            return False
        async with self.lock:
            waiting = self._book.waiting
            if waiting is None or waiting.turn_id != record.turn_id:
                return self._book.active is None or self._book.active.turn_id != record.turn_id
            return await self.call_off(waiting, reason) is not None

    async def _why_never(self, record: mf.TurnRecord) -> str | None:
        """Why the gateway won't begin a turn; None: it has or it may, and a while has passed."""
        request_id = record.diagnostics.get(GATEWAY_REQUEST)
        if request_id is None:
            return "its gateway fell silent before it said that it has it"
        gateway = await self.gateway()
        if gateway is None:
            raise NoGatewayNow("its gateway is away; it begins when that is back")
        told = await admission.asked(gateway, request_id)
        return told.reason if told.is_over else None

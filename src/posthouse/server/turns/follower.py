"""Follows running and waiting turns to their ends and records the outcome."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from posthouse.contracts import managed_agent_files as mf
from posthouse.errors import PosthouseError, Unavailable
from posthouse.server.gateways import LiveGateway
from posthouse.server.turns import admission, artifacts, turn_start
from posthouse.server.turns.agent_history import AgentHistory
from posthouse.support.supervision import Supervisor
from posthouse.turns import runner

T = TypeVar("T")

#: Called when a turn starts or ends, with the event kind and the record.
OnTurnEvent = Callable[[str, mf.TurnRecord], None]
#: Returns the live gateway of the agent, or None.
FindGateway = Callable[[], Awaitable[LiveGateway | None]]
#: Diagnostics key: the gateway's request id for the turn.
GATEWAY_REQUEST = "gateway_request_id"
_RETRY_SECONDS = 1.0
_LAST_RETRY_SECONDS = 30.0


class GatewayAway(Unavailable):
    """No gateway is available that could report on a waiting turn."""

    code = "no_gateway_now"


class TurnFollower:
    """Writes the final record of every turn of one agent. The lock is per agent."""

    def __init__(
        self,
        history: AgentHistory,
        log: logging.Logger,
        on_event: OnTurnEvent,
        gateway: FindGateway,
        background: Supervisor | None = None,
    ) -> None:
        self._background = background or Supervisor(log)
        self.lock = asyncio.Lock()
        self.gateway = gateway
        self._history = history
        self._log = log
        self._on_event = on_event
        self._follow_tasks: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def follow(self, record: mf.TurnRecord) -> None:
        """Record the turn's end when it comes; replaces the task that waits for its start."""
        before = self._follow_tasks.get(record.turn_id)
        if before is not None:
            before.cancel()
        task = self._background.supervise(f"turn {record.turn_id}", partial(self._follow_to_end, record))
        self._follow_tasks[record.turn_id] = task
        task.add_done_callback(lambda ended: self._discard(record.turn_id, ended))

    def emit_started(self, record: mf.TurnRecord) -> None:
        self._on_event("turn_started", record)

    async def finish_if_over(self, record: mf.TurnRecord) -> bool:
        """Record the end of a turn if it has ended. The caller holds the lock."""
        final = await asyncio.to_thread(turn_start.finish, record)
        if not final.is_final:
            return False
        await self._history.end(final)
        self._on_event("turn_ended", final)
        return True

    async def cancel(
        self, record: mf.TurnRecord, reason: str, *, on_request: bool = False
    ) -> mf.TurnRecord | None:
        """Prevent a turn from starting. None: it has started already. The caller holds the lock.

        Raises:
            TurnActive: A turn is being started, so the outcome is unknown.
        """
        folder = artifacts.turn_of(record).folder.path
        if not await asyncio.to_thread(runner.forbid, folder.parent, record.turn_id):
            return None
        final = artifacts.never_started(record, reason, on_request=on_request)
        await self._history.end(final)
        self._on_event("turn_ended", final)
        return final

    def _discard(self, turn_id: str, ended: "asyncio.Task[None]") -> None:
        if self._follow_tasks.get(turn_id) is ended:
            del self._follow_tasks[turn_id]

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Stop following. Turns continue; the next server recovers them."""
        tasks = [*self._tasks, *self._follow_tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow_to_end(self, record: mf.TurnRecord) -> None:
        delay = _RETRY_SECONDS
        while True:
            try:
                if await self._wait_for_progress(record):
                    return
                delay = _RETRY_SECONDS
                continue
            except GatewayAway:
                pass  # retry until it is back
            except (OSError, PosthouseError) as error:
                fields = {"turn_id": record.turn_id, "error": str(error)}
                self._log.warning("turn can't be followed; retrying", extra=fields)
            await asyncio.sleep(delay)
            delay = min(delay * 2, _LAST_RETRY_SECONDS)

    async def _wait_for_progress(self, record: mf.TurnRecord) -> bool:
        """Wait for the next change of a turn. True: it has ended and is recorded."""
        if not await asyncio.to_thread(artifacts.is_ordered, record):
            return await self._wait_at_gateway(record)
        await self._promote(record)
        turn = artifacts.turn_of(record)
        if (await turn.ended()).status == "unknown":
            await asyncio.to_thread(runner.cancel_abandoned, turn.folder.path.parent)
            return False
        async with self.lock:
            active = self._history.active
            return active is None or active.turn_id != record.turn_id or await self.finish_if_over(active)

    async def _promote(self, record: mf.TurnRecord) -> None:
        """Record the start of a turn that the gateway started without the server."""
        async with self.lock:
            waiting = self._history.waiting
            if waiting is not None and waiting.turn_id == record.turn_id:
                running = await asyncio.to_thread(artifacts.refresh, waiting)
                await self._history.promote(running)
                self.emit_started(running)

    async def _wait_at_gateway(self, record: mf.TurnRecord) -> bool:
        """Wait until the gateway starts or drops the turn. True: it is dropped, and that is recorded."""
        reason = await self._drop_reason(record)
        if reason is None:
            return False
        async with self.lock:
            waiting = self._history.waiting
            if waiting is None or waiting.turn_id != record.turn_id:
                return self._history.active is None or self._history.active.turn_id != record.turn_id
            return await self.cancel(waiting, reason) is not None

    async def _drop_reason(self, record: mf.TurnRecord) -> str | None:
        """Why the gateway won't start the turn; None: it has started, or the long poll timed out."""
        request_id = record.diagnostics.get(GATEWAY_REQUEST)
        if request_id is None:
            return "its gateway stopped responding before it confirmed the turn"
        gateway = await self.gateway()
        if gateway is None:
            raise GatewayAway("its gateway is not running; the turn starts when it is back")
        receipt = await admission.wait_until_submitted(gateway, request_id)
        return receipt.reason if receipt.is_over else None

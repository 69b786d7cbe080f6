"""Carries out what was accepted, one request at a time, in the order of arrival."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from posthouse.errors import PosthouseError
from posthouse.gateway.adapter import AgentAdapter, AgentBusy, AgentGone, Prompt, RunningTurn
from posthouse.gateway.files import Journal
from posthouse.queue import Queue, QueueUnavailable, Result, Row
from posthouse.support import crashpoints

INTERRUPT = "interrupt"
STOPPED = "the gateway was stopped while this request ran; the agent may go on with it"
_RETRY_SECONDS = 1.0


class Worker:
    """The one holder of the execution slot, as far as queued requests go."""

    def __init__(
        self,
        queue: Queue,
        adapter: AgentAdapter,
        journal: Journal,
        log: logging.Logger,
        *,
        open_epoch: Callable[[], int | None],
        on_change: Callable[[], None],
    ) -> None:
        self._queue = queue
        self._adapter = adapter
        self._journal = journal
        self._log = log
        #: The epoch that may be given work now; None while nothing may.
        self._open_epoch = open_epoch
        self._on_change = on_change
        self._wake = asyncio.Event()
        #: Held by whatever types or runs; waiting for readiness does not hold it.
        self.slot = asyncio.Lock()

    def wake(self) -> None:
        """Something changed: a request came, or the agent did."""
        self._wake.set()

    async def run(self) -> None:
        """Work until cancelled. A request that is running then is failed, for nobody will see its end."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while await self._step():
                    pass
            except QueueUnavailable as error:
                self._log.error("the queue can't be used; trying again", extra={"error": str(error)})
                asyncio.get_running_loop().call_later(_RETRY_SECONDS, self.wake)

    async def interrupt(self, request_id: str, turn: RunningTurn) -> None:
        """Carry out a running interrupt on *turn*, at once, whoever holds the slot."""
        await self._settle(request_id, turn.interrupt())

    async def _step(self) -> bool:
        """Carry out the next request. False: there is none that may run now."""
        row = await self._next()
        if row is None:
            return False
        if row.kind != INTERRUPT:
            try:
                await self._adapter.wait_ready()
            except AgentGone:
                # Its return wakes us; an agent that only seemed gone has none.
                asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._wake_if_open)
                return False
        was_taken = True
        async with self.slot:
            # While we waited the agent may have been replaced, which closes the door for this row.
            if self._open_epoch() == row.epoch and await self._queue.claim(row.request_id):
                was_taken = await self._carry_out(row)
        self._on_change()
        if not was_taken:
            await asyncio.sleep(_RETRY_SECONDS)
        return True

    def _wake_if_open(self) -> None:
        if self._open_epoch() is not None:
            self.wake()

    async def _next(self) -> Row | None:
        epoch = self._open_epoch()
        return None if epoch is None else await self._queue.next(epoch)

    async def _carry_out(self, row: Row) -> bool:
        """Carry out a claimed row. False: the agent took nothing, and the row is back in line."""
        self._on_change()
        crashpoints.reach("request claimed")
        if row.kind == INTERRUPT:
            return await self._settle(row.request_id, self._interrupt_now())
        return await self._settle(row.request_id, self._adapter.carry_out(Prompt.from_payload(row.payload)))

    async def _interrupt_now(self) -> None:
        turn = await self._adapter.running_turn()
        if turn is not None:
            await turn.interrupt()

    async def _settle(self, request_id: str, action: Awaitable[object]) -> bool:
        """Do *action* and write down how it ended, whatever happens. False: nothing happened at all."""
        try:
            await action
        except asyncio.CancelledError:
            await self._finish(request_id, Result(state="failed", error=STOPPED))
            raise
        except AgentBusy as error:
            self._log.info(
                "request goes back in line", extra={"request_id": request_id, "reason": str(error)}
            )
            await self._queue.release(request_id)
            return False
        except PosthouseError as error:
            await self._finish(request_id, Result(state="failed", error=str(error)))
        except Exception as error:  # noqa: BLE001 - the worker must outlive one bad request
            self._log.exception("request failed unexpectedly", extra={"request_id": request_id})
            reason = f"the gateway failed: {type(error).__name__}; its log has the details"
            await self._finish(request_id, Result(state="failed", error=reason))
        else:
            crashpoints.reach("request carried out")
            await self._finish(request_id, Result(state="completed"))
        return True

    async def _finish(self, request_id: str, result: Result) -> None:
        finished = await self._queue.finish(request_id, result)
        if finished is None:
            return
        self._journal.add(
            finished.state, request_id=request_id, error_detail=finished.error, result_json=finished.result
        )
        self._log.info(f"request {finished.state}", extra={"request_id": request_id})
        self._on_change()

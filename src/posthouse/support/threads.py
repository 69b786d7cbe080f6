"""Blocking calls beside an event loop: bounded, in daemon threads that never delay the exit."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from posthouse.errors import Unavailable

T = TypeVar("T")


class TookTooLong(Unavailable):
    """The call did not return in time. It continues, and its outcome is unknown."""

    code = "took_too_long"


class BoundedThreads:
    """Runs blocking calls for one loop, at most *max_running* at a time.

    Daemon threads, because a call that hangs in the kernel must not block the exit. One thread per call, so
    that an idle instance costs nothing.
    """

    def __init__(self, *, max_running: int, max_waiting: int, name: str) -> None:
        self._slots = asyncio.Semaphore(max_running)
        self._max_pending = max_running + max_waiting
        self._pending = 0
        self._name = name

    async def run(self, work: Callable[[], T], *, within_seconds: float) -> T:
        """The result of *work*, which runs in a thread. Errors of *work* are raised here.

        Raises:
            Unavailable: Not started: too many calls are queued, or it was queued for *within_seconds*; code
                `too_much_waits`.
            TookTooLong: It did not return *within_seconds* of its start, and continues.
        """
        if self._pending >= self._max_pending:
            raise _overloaded(f"{self._pending} calls wait for {self._name} already")
        self._pending += 1
        try:
            async with asyncio.timeout(within_seconds):
                await self._slots.acquire()
        except TimeoutError:
            self._pending -= 1
            raise _overloaded(f"{self._name} still waits for earlier calls") from None
        except BaseException:
            self._pending -= 1
            raise
        return await self._result(work, within_seconds)

    async def _result(self, work: Callable[[], T], within_seconds: float) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        threading.Thread(target=self._work, args=(work, future, loop), name=self._name, daemon=True).start()
        try:
            async with asyncio.timeout(within_seconds):
                return await asyncio.shield(future)
        except TimeoutError:
            raise TookTooLong(f"{self._name} did not answer within {within_seconds:g} s") from None

    def _work(
        self, work: Callable[[], T], future: "asyncio.Future[T]", loop: asyncio.AbstractEventLoop
    ) -> None:
        try:
            value = work()
        except BaseException as error:  # noqa: BLE001 - the caller of `run` handles it
            self._complete(loop, lambda error=error: _set_exception(future, error))  # type: ignore[misc]
        else:
            self._complete(loop, lambda: _set_result(future, value))

    def _complete(self, loop: asyncio.AbstractEventLoop, deliver: Callable[[], None]) -> None:
        def ended() -> None:
            self._pending -= 1
            self._slots.release()
            deliver()

        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(ended)


def _overloaded(reason: str) -> Unavailable:
    return Unavailable(f"{reason}; try again later", code="too_much_waits")


def _set_result(future: "asyncio.Future[T]", value: T) -> None:
    if not future.done():
        future.set_result(value)


def _set_exception(future: "asyncio.Future[T]", error: BaseException) -> None:
    if future.done():
        return
    future.set_exception(error)
    # Marks it as retrieved: the caller may have stopped waiting.
    future.exception()

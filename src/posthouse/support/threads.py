"""Blocking work beside an event loop: bounded, and never in the way of the process's end."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from posthouse.errors import Unavailable

T = TypeVar("T")


class TooMuchWaits(Unavailable):
    """So much blocking work waits already that more is refused; nothing of it was begun."""

    code = "too_much_waits"


class TookTooLong(Unavailable):
    """The work did not end in time. It goes on, and nobody knows how it will end."""

    code = "took_too_long"


class Threads:
    """Runs blocking calls for one loop, a few at a time.

    Daemon threads, because a call that hangs in the kernel must not keep the process from ending, and a
    thread for each call, because an idle user of this costs nothing.
    """

    def __init__(self, *, at_once: int, waiting: int, name: str) -> None:
        self._room = asyncio.Semaphore(at_once)
        self._most = at_once + waiting
        self._asked = 0
        self._name = name

    async def run(self, work: Callable[[], T], *, within_seconds: float) -> T:
        """The value of *work*, which runs in a thread.

        Raises:
            TooMuchWaits: It was not begun: too much waits, or it waited as long for its beginning.
            TookTooLong: It did not end *within_seconds* of its beginning, and goes on.
            Whatever *work* raises.
        """
        if self._asked >= self._most:
            raise TooMuchWaits(f"{self._asked} calls wait for {self._name} already; try again later")
        self._asked += 1
        try:
            async with asyncio.timeout(within_seconds):
                await self._room.acquire()
        except TimeoutError:
            self._asked -= 1
            raise TooMuchWaits(f"{self._name} still waits for earlier calls; try again later") from None
        except BaseException:
            self._asked -= 1
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
        except BaseException as error:  # noqa: BLE001 - it is the asker's to handle
            self._tell(loop, lambda error=error: _failed(future, error))  # type: ignore[misc]
        else:
            self._tell(loop, lambda: _done(future, value))

    def _tell(self, loop: asyncio.AbstractEventLoop, deliver: Callable[[], None]) -> None:
        def ended() -> None:
            self._asked -= 1
            self._room.release()
            deliver()

        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(ended)


def _done(future: "asyncio.Future[T]", value: T) -> None:
    if not future.done():
        future.set_result(value)


def _failed(future: "asyncio.Future[T]", error: BaseException) -> None:
    if future.done():
        return
    future.set_exception(error)
    # Whoever asked may have stopped waiting, and then nobody looks at it.
    future.exception()

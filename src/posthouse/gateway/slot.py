"""The one execution slot of a gateway: held while something types into the agent or runs it.

It consists of two locks. Work (a queued request, a direct prompt, a reminder) takes both, one piece at a
time. Raw keys take only the second, so that they pass while work merely waits for the agent.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from posthouse.errors import Conflict


class SlotTaken(Conflict):
    """Something else is being typed or run; nothing was done."""

    code = "slot_taken"

    def __init__(self, holder: str) -> None:
        super().__init__(f"{holder} is being given to the agent right now; try again in a moment")
        self.holder = holder


class Slot:
    """Held by one piece of work at a time, first come, first served."""

    def __init__(self) -> None:
        self._work = asyncio.Lock()
        self._input = asyncio.Lock()
        self._holder = ""
        self._number = 0

    @property
    def is_held(self) -> bool:
        """Whether something is being typed or run."""
        return self._work.locked() or self._input.locked()

    @property
    def work_number(self) -> int | None:
        """Identifies the current piece of work; None while there is none."""
        return self._number if self._work.locked() else None

    @asynccontextmanager
    async def work(self, name: str, *, within_seconds: float | None = None) -> AsyncIterator[None]:
        """Hold the slot for *name*, which appears in the errors of other callers.

        Raises:
            SlotTaken: It was not free *within_seconds*; None waits without limit.
        """
        async with _held(self._work, within_seconds, self._taken):
            self._number += 1
            async with _held(self._input, None, self._taken):
                self._holder = name
                yield

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Let raw keys pass while the holder only waits for its agent; the holder keeps the slot."""
        self._input.release()
        try:
            yield
        finally:
            await self._input.acquire()

    @asynccontextmanager
    async def keys(self, *, within_seconds: float) -> AsyncIterator[None]:
        """Hold only the input lock, for raw keys.

        Raises:
            SlotTaken: Something was still being typed after *within_seconds*.
        """
        async with _held(self._input, within_seconds, self._taken):
            yield

    def _taken(self) -> SlotTaken:
        return SlotTaken(self._holder or "raw input")


@asynccontextmanager
async def _held(
    lock: asyncio.Lock, seconds: float | None, taken: Callable[[], SlotTaken]
) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            await lock.acquire()
    except TimeoutError:
        raise taken() from None
    try:
        yield
    finally:
        lock.release()

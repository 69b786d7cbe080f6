"""Waits until a pane's screen meets a condition; captures it only on changes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from posthouse.terminal import process_exit
from posthouse.terminal.control import ControlClient
from posthouse.terminal.screen import Screen, Surface

Found = TypeVar("Found")
#: The result for a screen; None: keep waiting.
Condition = Callable[[Screen, Surface], Found | None]

#: A screen that repaints constantly is read after a pause of this length …
_PAUSE_SECONDS = 0.12
#: … or after this long at the latest.
_MAX_DELAY_SECONDS = 1.0
#: tmux detects a program's end shortly after the kernel.
_DEATH_POLLS = 40
_DEATH_POLL_SECONDS = 0.05


class ScreenWaiter:
    """Captures one pane, and again after each change."""

    def __init__(self, client: ControlClient, pane_id: str, read: Callable[[Screen], Surface]) -> None:
        self._client = client
        self._pane_id = pane_id
        self._read = read
        self._waiters: set[asyncio.Event] = set()

    async def screen(self) -> Screen:
        return await self._client.capture(self._pane_id)

    async def surface(self) -> Surface:
        return self.surface_of(await self.screen())

    def surface_of(self, screen: Screen) -> Surface:
        if screen.dead:
            return Surface(state="exited", evidence=("the pane is dead",))
        return self._read(screen)

    def nudge(self) -> None:
        """Make all waiters check now: something changed that is not on the screen."""
        for changed in self._waiters:
            changed.set()

    async def until(
        self, condition: Condition[Found], *, seconds: float | None, poll_seconds: float | None = None
    ) -> Found | None:
        """The first result of *condition* that is not None, or None after *seconds*.

        Checks at every pause in the output; with *poll_seconds* at every output and at least that often,
        for state that also changes off the screen.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds if seconds is not None else float("inf")
        async with self._changes() as changed:
            while True:
                changed.clear()
                screen = await self.screen()
                if (found := condition(screen, self.surface_of(screen))) is not None:
                    return found
                if (left := deadline - loop.time()) <= 0:
                    return None
                await _set_within(changed, min(left, poll_seconds or left))
                if poll_seconds is None:
                    await _pause_in(changed, min(left, _MAX_DELAY_SECONDS))

    @asynccontextmanager
    async def _changes(self) -> AsyncIterator[asyncio.Event]:
        """An event that is set by output, by the end of the program, and by the end of the session."""
        changed = asyncio.Event()

        def note(pane_id: str, _content: bytes) -> None:
            if pane_id == self._pane_id:
                changed.set()

        unwatch = self._client.watch(note)
        self._waiters.add(changed)
        watchers = [
            asyncio.create_task(_set_after(self._client.closed(), changed)),
            asyncio.create_task(_set_after(self._program_ended(), changed)),
        ]
        try:
            yield changed
        finally:
            unwatch()
            self._waiters.discard(changed)
            for watcher in watchers:
                watcher.cancel()
            # Their errors surface at the next capture; here they only have to end.
            await asyncio.gather(*watchers, return_exceptions=True)

    async def _program_ended(self) -> None:
        await process_exit.ended((await self._client.pane(self._pane_id)).pid)
        for _ in range(_DEATH_POLLS):
            if (await self._client.pane(self._pane_id)).dead:
                return
            await asyncio.sleep(_DEATH_POLL_SECONDS)


async def _set_after(awaitable: Awaitable[None], changed: asyncio.Event) -> None:
    try:
        await awaitable
    finally:
        changed.set()


async def _set_within(changed: asyncio.Event, seconds: float) -> bool:
    """Whether *changed* was set within *seconds*."""
    try:
        async with asyncio.timeout(None if seconds == float("inf") else seconds):
            await changed.wait()
    except TimeoutError:
        return False
    return True


async def _pause_in(changed: asyncio.Event, seconds: float) -> None:
    """Return when the output pauses, or after *seconds*."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while loop.time() < deadline:
        changed.clear()
        if not await _set_within(changed, _PAUSE_SECONDS):
            return

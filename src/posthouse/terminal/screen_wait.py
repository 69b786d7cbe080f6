"""Waiting until a pane's screen means something, without asking when nothing changes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from posthouse.terminal import process_exit
from posthouse.terminal.control import ControlClient
from posthouse.terminal.screen import Screen, Surface

Found = TypeVar("Found")
#: What a look at the screen decides; None: go on waiting.
Judge = Callable[[Screen, Surface], Found | None]

#: A screen that repaints all the time is read when it pauses this long …
_QUIET_SECONDS = 0.12
#: … or after this long at the latest.
_RESTLESS_SECONDS = 1.0
#: tmux learns of a program's end a little after the kernel.
_DEATH_LOOKS = 40
_DEATH_LOOK_SECONDS = 0.05


class PaneWatch:
    """Looks at one pane, and looks again when it changes."""

    def __init__(self, client: ControlClient, pane_id: str, read: Callable[[Screen], Surface]) -> None:
        self._client = client
        self._pane_id = pane_id
        self._read = read
        self._waiting: set[asyncio.Event] = set()

    async def screen(self) -> Screen:
        return await self._client.capture(self._pane_id)

    async def surface(self) -> Surface:
        return self.meaning(await self.screen())

    def meaning(self, screen: Screen) -> Surface:
        if screen.dead:
            return Surface(state="exited", evidence=("the pane is dead",))
        return self._read(screen)

    def nudge(self) -> None:
        """Let everybody who waits look now: something changed that is not on the screen."""
        for changed in self._waiting:
            changed.set()

    async def until(
        self, judge: Judge[Found], *, seconds: float | None, look_again_seconds: float | None = None
    ) -> Found | None:
        """What *judge* decides at last, or None after *seconds*.

        It looks at every pause in the output, and with *look_again_seconds* at every output and at
        least that often: for what also changes off the screen.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds if seconds is not None else float("inf")
        async with self._changes() as changed:
            while True:
                changed.clear()
                screen = await self.screen()
                if (found := judge(screen, self.meaning(screen))) is not None:
                    return found
                if (left := deadline - loop.time()) <= 0:
                    return None
                await _set_within(changed, min(left, look_again_seconds or left))
                if look_again_seconds is None:
                    await _pause_in(changed, min(left, _RESTLESS_SECONDS))

    @asynccontextmanager
    async def _changes(self) -> AsyncIterator[asyncio.Event]:
        """An event that is set by output, by the end of the program, and by the end of the session."""
        changed = asyncio.Event()

        def note(pane_id: str, _content: bytes) -> None:
            if pane_id == self._pane_id:
                changed.set()

        unwatch = self._client.watch(note)
        self._waiting.add(changed)
        alarms = [
            asyncio.create_task(_set_after(self._client.closed(), changed)),
            asyncio.create_task(_set_after(self._program_ended(), changed)),
        ]
        try:
            yield changed
        finally:
            unwatch()
            self._waiting.discard(changed)
            for alarm in alarms:
                alarm.cancel()
            # Their errors show in the next look; here they only have to be over.
            await asyncio.gather(*alarms, return_exceptions=True)

    async def _program_ended(self) -> None:
        await process_exit.ended((await self._client.pane(self._pane_id)).pid)
        for _ in range(_DEATH_LOOKS):
            if (await self._client.pane(self._pane_id)).dead:
                return
            await asyncio.sleep(_DEATH_LOOK_SECONDS)


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
        if not await _set_within(changed, _QUIET_SECONDS):
            return

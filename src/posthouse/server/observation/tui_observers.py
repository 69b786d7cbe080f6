"""The TUIs that are looked at from here: each from the first question until nobody has asked for a while."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from posthouse import agent, tools
from posthouse.errors import PosthouseError, Unavailable
from posthouse.server.observation.tui_observer import Eye
from posthouse.sessions.session import Session
from posthouse.support.supervision import Supervisor

#: Whoever asks again within this finds the belief and its history as they were.
IDLE_SECONDS = 120.0
#: Eyes that nobody looks through; beyond this the one that was asked for least lately is closed.
MAX_IDLE = 64
_log = logging.getLogger(__name__)


class CannotLook(Unavailable):
    """Nobody knows how to look at a TUI of that kind."""

    code = "cannot_look"


@dataclass(slots=True, kw_only=True, eq=False)
class _Held:
    opening: asyncio.Task[Eye]
    users: int = 0
    timer: asyncio.TimerHandle | None = field(default=None)


def eye_on(session: Session, background: Supervisor | None = None) -> Eye:
    """An eye that is still closed; *background* restarts what it runs.

    Raises:
        CannotLook: Its backend is only shown, or its tool is not known here.
    """
    try:
        return Eye(agent.of(session, background), tools.load(session.manifest.tool))
    except PosthouseError as error:
        raise CannotLook(str(error)) from error


class Eyes:
    """At most one eye on each session."""

    def __init__(
        self,
        *,
        idle_seconds: float = IDLE_SECONDS,
        make: Callable[[Session], Eye] | None = None,
        background: Supervisor | None = None,
    ) -> None:
        self._idle_seconds = idle_seconds
        self._background = background or Supervisor(_log)
        self._make = make or partial(eye_on, background=self._background)
        #: By manifest, those asked for least lately first.
        self._held: dict[str, _Held] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def on(self, session: Session) -> AsyncIterator[Eye]:
        """The eye on *session*, open for as long as the body needs it.

        Raises:
            CannotLook: Its backend or its tool is not known here.
        """
        path = str(session.manifest_path)
        held = self._take(path, session)
        try:
            yield await asyncio.shield(held.opening)
        finally:
            self._give_back(path, held)

    def forget(self, manifest_path: str) -> None:
        """Close the eye on that session if nobody looks through it: what it saw has ended."""
        held = self._held.get(manifest_path)
        if held is not None and held.users == 0:
            self._close(manifest_path, held)

    async def close(self) -> None:
        """Close them all."""
        for path, held in [*self._held.items()]:
            self._close(path, held)
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _take(self, path: str, session: Session) -> _Held:
        held = self._held.pop(path, None)
        if held is None or (held.opening.done() and held.opening.exception() is not None):
            held = _Held(opening=asyncio.create_task(self._opened(session)))
        self._held[path] = held
        held.users += 1
        if held.timer is not None:
            held.timer.cancel()
        return held

    async def _opened(self, session: Session) -> Eye:
        eye = self._make(session)
        await eye.open()
        return eye

    def _give_back(self, path: str, held: _Held) -> None:
        held.users -= 1
        if held.users == 0 and self._held.get(path) is held:
            loop = asyncio.get_running_loop()
            held.timer = loop.call_later(self._idle_seconds, self._close, path, held)
            idle = [(path, one) for path, one in self._held.items() if one.users == 0]
            for oldest in idle[:-MAX_IDLE]:
                self._close(*oldest)

    def _close(self, path: str, held: _Held) -> None:
        if held.timer is not None:
            held.timer.cancel()
        if self._held.get(path) is held:
            del self._held[path]
        task = self._background.spawn(_closed(held.opening))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _closed(opening: asyncio.Task[Eye]) -> None:
    opened = await asyncio.gather(opening, return_exceptions=True)
    for eye in opened:
        if isinstance(eye, Eye):
            await eye.close()

"""Observers of TUIs without a gateway: opened at the first request, closed after an idle time."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from posthouse import agent, tools
from posthouse.errors import PosthouseError, Unavailable
from posthouse.server.observation.tui_observer import TuiObserver
from posthouse.sessions.session import Session
from posthouse.support.supervision import Supervisor

#: An observer is closed after this time without a request; until then its state and history are kept.
IDLE_SECONDS = 120.0
#: Limit of idle observers; the least recently used one is closed.
MAX_IDLE = 64
_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class _OpenObserver:
    opening: asyncio.Task[TuiObserver]
    users: int = 0
    timer: asyncio.TimerHandle | None = field(default=None)


def make_observer(session: Session, background: Supervisor | None = None) -> TuiObserver:
    """An observer that is not open yet; *background* supervises its tasks.

    Raises:
        Unavailable: The backend is read-only or the tool is unknown.
    """
    try:
        return TuiObserver(agent.for_session(session, background), tools.load(session.manifest.tool))
    except PosthouseError as error:
        raise Unavailable(str(error), code="cannot_look") from error


class TuiObservers:
    """At most one observer of each session."""

    def __init__(
        self,
        *,
        idle_seconds: float = IDLE_SECONDS,
        make: Callable[[Session], TuiObserver] | None = None,
        background: Supervisor | None = None,
    ) -> None:
        self._idle_seconds = idle_seconds
        self._background = background or Supervisor(_log)
        self._make = make or partial(make_observer, background=self._background)
        #: By manifest path, least recently used first.
        self._entries: dict[str, _OpenObserver] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def observe(self, session: Session) -> AsyncIterator[TuiObserver]:
        """The observer of *session*, open until the body ends.

        Raises:
            Unavailable: The backend is read-only or the tool is unknown.
        """
        path = str(session.manifest_path)
        entry = self._acquire(path, session)
        try:
            yield await asyncio.shield(entry.opening)
        finally:
            self._release(path, entry)

    def forget(self, manifest_path: str) -> None:
        """Close the observer of that session if it is idle, because the session has ended."""
        entry = self._entries.get(manifest_path)
        if entry is not None and entry.users == 0:
            self._close(manifest_path, entry)

    async def close(self) -> None:
        """Close all observers."""
        for path, entry in [*self._entries.items()]:
            self._close(path, entry)
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _acquire(self, path: str, session: Session) -> _OpenObserver:
        entry = self._entries.pop(path, None)
        if entry is None or (entry.opening.done() and entry.opening.exception() is not None):
            entry = _OpenObserver(opening=asyncio.create_task(self._open(session)))
        self._entries[path] = entry
        entry.users += 1
        if entry.timer is not None:
            entry.timer.cancel()
        return entry

    async def _open(self, session: Session) -> TuiObserver:
        observer = self._make(session)
        await observer.open()
        return observer

    def _release(self, path: str, entry: _OpenObserver) -> None:
        entry.users -= 1
        if entry.users == 0 and self._entries.get(path) is entry:
            loop = asyncio.get_running_loop()
            entry.timer = loop.call_later(self._idle_seconds, self._close, path, entry)
            idle = [(path, one) for path, one in self._entries.items() if one.users == 0]
            for oldest in idle[:-MAX_IDLE]:
                self._close(*oldest)

    def _close(self, path: str, entry: _OpenObserver) -> None:
        if entry.timer is not None:
            entry.timer.cancel()
        if self._entries.get(path) is entry:
            del self._entries[path]
        task = self._background.spawn(_closed(entry.opening))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _closed(opening: asyncio.Task[TuiObserver]) -> None:
    opened = await asyncio.gather(opening, return_exceptions=True)
    for observer in opened:
        if isinstance(observer, TuiObserver):
            await observer.close()

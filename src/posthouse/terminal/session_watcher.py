"""Which sessions a tmux server has, told when one comes or goes instead of asked again and again."""

import asyncio
from collections.abc import Callable

from posthouse.errors import PosthouseError
from posthouse.terminal import session
from posthouse.terminal.client import Server, Tmux
from posthouse.terminal.control import ControlClient

#: A server that does not answer, or has none of ours yet, is asked again after this; twice as long each time.
_FIRST_RETRY_SECONDS = 0.1
_LAST_RETRY_SECONDS = 30.0


class Attendance:
    """Keeps `sessions` true for one server, and calls *on_change* when they are others.

    tmux tells only clients of a session. *ours* are those that may be joined for it, and that are waited for
    when they are not there; while none is, whoever learns that one may have been made calls `look`.
    """

    def __init__(
        self, server: Server, *, ours: Callable[[], frozenset[str]], on_change: Callable[[], None]
    ) -> None:
        self._server = server
        self._ours = ours
        self._on_change = on_change
        self._wanted = asyncio.Event()
        #: None before the first look, and while the server does not answer.
        self.sessions: frozenset[str] | None = None
        #: Set when the first look is over, whatever it found.
        self.asked = asyncio.Event()

    def look(self) -> None:
        """Ask the server again, soon."""
        self._wanted.set()

    async def run(self) -> None:
        """Attend until cancelled."""
        delay = _FIRST_RETRY_SECONDS
        while True:
            self._wanted.clear()
            try:
                self._found(frozenset(await asyncio.to_thread(session.surfaces, Tmux(self._server))))
                is_heard = await self._stay()
            except PosthouseError:
                # It may only be slow, or has just died; what was true is not known any more.
                self._found(None)
                is_heard = False
            if is_heard or await self._is_wanted_within(self._patience(delay)):
                delay = _FIRST_RETRY_SECONDS
            else:
                delay *= 2

    def _patience(self, delay: float) -> float | None:
        """For how long to wait for a reason to look again; None for as long as it takes."""
        if self.sessions is None:
            return min(delay, _LAST_RETRY_SECONDS)
        # A record is written before its session is made; one that does not come soon does not come by itself.
        return delay if self._ours() and delay <= _LAST_RETRY_SECONDS else None

    async def _is_wanted_within(self, seconds: float | None) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._wanted.wait()
        except TimeoutError:
            return False

    async def _stay(self) -> bool:
        """Follow the server until the session that was joined for it ends; False when there is none to join.

        Raises:
            PosthouseError: The server does not answer.
        """
        joined = min(self._ours() & (self.sessions or frozenset()), default=None)
        if joined is None:
            return False
        client = await ControlClient.attach(self._server, joined, output=False)
        try:
            client.watch_sessions(self.look)
            await self._follow(client)
        finally:
            await client.close()
        return True

    async def _follow(self, client: ControlClient) -> None:
        ended = asyncio.ensure_future(client.closed())
        try:
            while not ended.done():
                listing = await client.command("list-sessions", "-F", "#{session_name}")
                self._found(frozenset(listing.splitlines()))
                wanted = asyncio.ensure_future(self._wanted.wait())
                await asyncio.wait({ended, wanted}, return_when=asyncio.FIRST_COMPLETED)
                wanted.cancel()
                self._wanted.clear()
        finally:
            ended.cancel()

    def _found(self, sessions: frozenset[str] | None) -> None:
        self.asked.set()
        if sessions != self.sessions:
            self.sessions = sessions
            self._on_change()

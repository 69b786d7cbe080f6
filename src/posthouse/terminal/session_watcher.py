"""Watches the sessions of a tmux server by notifications instead of polling."""

import asyncio
from collections.abc import Callable

from posthouse.errors import PosthouseError
from posthouse.terminal import session
from posthouse.terminal.client import Server, Tmux
from posthouse.terminal.control import ControlClient

#: Exponential backoff while the server does not answer or has none of the expected sessions.
_FIRST_RETRY_SECONDS = 0.1
_LAST_RETRY_SECONDS = 30.0


class SessionWatcher:
    """Keeps `sessions` current for one server, and calls *on_change* when they change.

    tmux notifies only clients of a session. *expected* returns the sessions to attach to, or to wait for.
    While none of them exists, call `refresh` when one may have been made.
    """

    def __init__(
        self, server: Server, *, expected: Callable[[], frozenset[str]], on_change: Callable[[], None]
    ) -> None:
        self._server = server
        self._expected = expected
        self._on_change = on_change
        self._refresh_requested = asyncio.Event()
        #: None before the first check, and while the server does not answer.
        self.sessions: frozenset[str] | None = None
        #: Set after the first check, whatever its result.
        self.checked = asyncio.Event()

    def refresh(self) -> None:
        """Check the server again soon."""
        self._refresh_requested.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        delay = _FIRST_RETRY_SECONDS
        while True:
            self._refresh_requested.clear()
            try:
                self._update(frozenset(await asyncio.to_thread(session.pane_states, Tmux(self._server))))
                was_attached = await self._follow_expected()
            except PosthouseError:
                # The server is slow or has ended, so its sessions are unknown.
                self._update(None)
                was_attached = False
            if was_attached or await self._is_refresh_requested_within(self._wait_seconds(delay)):
                delay = _FIRST_RETRY_SECONDS
            else:
                delay *= 2

    def _wait_seconds(self, delay: float) -> float | None:
        """Seconds until the next check without a request; None: no limit."""
        if self.sessions is None:
            return min(delay, _LAST_RETRY_SECONDS)
        # A record is written before its session is made; a session that does not appear soon will not appear.
        return delay if self._expected() and delay <= _LAST_RETRY_SECONDS else None

    async def _is_refresh_requested_within(self, seconds: float | None) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._refresh_requested.wait()
        except TimeoutError:
            return False

    async def _follow_expected(self) -> bool:
        """Follow the server until the attached session ends; False when there is none to attach to.

        Raises:
            PosthouseError: The server does not answer.
        """
        joined = min(self._expected() & (self.sessions or frozenset()), default=None)
        if joined is None:
            return False
        client = await ControlClient.attach(self._server, joined, output=False)
        try:
            client.watch_sessions(self.refresh)
            await self._follow(client)
        finally:
            await client.close()
        return True

    async def _follow(self, client: ControlClient) -> None:
        ended = asyncio.ensure_future(client.closed())
        try:
            while not ended.done():
                listing = await client.command("list-sessions", "-F", "#{session_name}")
                self._update(frozenset(listing.splitlines()))
                wanted = asyncio.ensure_future(self._refresh_requested.wait())
                await asyncio.wait({ended, wanted}, return_when=asyncio.FIRST_COMPLETED)
                wanted.cancel()
                self._refresh_requested.clear()
        finally:
            ended.cancel()

    def _update(self, sessions: frozenset[str] | None) -> None:
        self.checked.set()
        if sessions != self.sessions:
            self.sessions = sessions
            self._on_change()

"""A control connection to an agent's tmux session that reconnects with backoff."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from posthouse.errors import PosthouseError
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support.supervision import Supervisor
from posthouse.terminal import pane as panes
from posthouse.terminal.control import ControlClient
from posthouse.terminal.pane import Pane

#: A gone session may be relaunched; polled with backoff.
_FIRST_RETRY_SECONDS = 0.25
_LAST_RETRY_SECONDS = 15.0
#: A relaunch starts the program first and writes the manifest a moment later.
_MANIFEST_LAG_SECONDS = 2.0
_POLL_SECONDS = 0.1
_log = logging.getLogger(__name__)


class SessionConnection:
    """One control client, reattached whenever the session exists again."""

    def __init__(self, session: Session, *, output: bool, background: Supervisor | None = None) -> None:
        self._manifest_path = session.manifest_path
        self._output = output
        self.session = session
        #: None while not attached.
        self.client: ControlClient | None = None
        #: Pid of the tmux server; pane ids are unique only within one server.
        self.server_pid = ""
        #: Why `client` is None.
        self.reason = "not observed yet"
        #: Restarts the observing task when it fails, and logs it.
        self.background = background or Supervisor(_log)
        self._retry_now = asyncio.Event()
        self._attach_lock = asyncio.Lock()
        self._attach_task: asyncio.Task[None] | None = None
        self._is_closing = False

    async def attach_now(self) -> None:
        """Attach if possible, and end the current backoff of `keep_attached`."""
        await self._attach()
        self._retry_now.set()

    def keep_attached(
        self, follow: Callable[[ControlClient], Awaitable[None]], lost: Callable[[], None]
    ) -> None:
        """Reattach until closed. *follow* runs while attached; *lost* is called after each detachment."""
        name = f"observer of tmux session {self.session.tmux_session_name}"
        self._attach_task = self.background.supervise(name, partial(self._attach_forever, follow, lost))

    async def agent_pane(self) -> Pane | None:
        """The pane of window 0; None when session or window is gone, with the cause in `reason`."""
        if self.client is None:
            return None
        target = f"={self.session.tmux_session_name}:0"
        try:
            found = panes.parse(await self.client.command("list-panes", "-t", target, "-F", panes.FORMAT))
        except PosthouseError as error:
            self.reason = str(error)
            return None
        return found[0]

    async def is_named_in_manifest(self, names: Callable[[Session], bool]) -> bool:
        """Whether the manifest names the instance now or within 2 s."""
        deadline = asyncio.get_running_loop().time() + _MANIFEST_LAG_SECONDS
        while True:
            try:
                self.session = sessions.read(self._manifest_path)
            except PosthouseError:
                return False  # an unreadable manifest names no instance
            if names(self.session):
                return True
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(_POLL_SECONDS)

    async def close(self) -> None:
        self._is_closing = True
        client = self.client  # cancelling the task clears it
        if self._attach_task is not None:
            self._attach_task.cancel()
            await asyncio.gather(self._attach_task, return_exceptions=True)
        if client is not None:
            await client.close()

    async def _attach(self) -> bool:
        """Attach if possible. Reads the manifest again: a relaunch may have moved the agent."""
        async with self._attach_lock:
            if self.client is not None:
                return True
            try:
                self.session = sessions.read(self._manifest_path)
                client = await ControlClient.attach(
                    self.session.tmux.server, self.session.tmux_session_name, output=self._output
                )
            except PosthouseError as error:
                self.reason = str(error)
                return False
            try:
                self.server_pid = await client.command("display-message", "-p", "#{pid}")
            except PosthouseError as error:
                await client.close()
                self.reason = str(error)
                return False
            self.client = client
            return True

    async def _attach_forever(
        self, follow: Callable[[ControlClient], Awaitable[None]], lost: Callable[[], None]
    ) -> None:
        delay = _FIRST_RETRY_SECONDS
        while True:
            if await self._attach():
                delay = _FIRST_RETRY_SECONDS
                try:
                    await self._follow(follow)
                finally:
                    if not self._is_closing:
                        lost()
            await self._pause(delay)
            delay = min(delay * 2, _LAST_RETRY_SECONDS)

    async def _follow(self, follow: Callable[[ControlClient], Awaitable[None]]) -> None:
        """Run *follow* until the session ends or a tmux command of it fails.

        Raises:
            Exception: *follow* failed unexpectedly; the client is detached.
        """
        assert self.client is not None
        client = self.client
        following, closed = asyncio.ensure_future(follow(client)), asyncio.ensure_future(client.closed())
        try:
            await asyncio.wait({following, closed}, return_when=asyncio.FIRST_COMPLETED)
            error = following.exception() if following.done() else None
            if isinstance(error, PosthouseError):
                # A command can fail just before the end of its session is noticed.
                await asyncio.wait({closed}, timeout=_POLL_SECONDS)
            elif error is None:
                await closed
            is_ended = closed.done()
        finally:
            following.cancel()
            closed.cancel()
            await asyncio.gather(following, closed, return_exceptions=True)
            self.client = None
            await client.close()
        self.reason = f"its tmux session {self.session.tmux_session_name} ended"
        if error is not None and not is_ended:
            self.reason = str(error)
        if error is not None and not isinstance(error, PosthouseError):
            raise error

    async def _pause(self, seconds: float) -> None:
        self._retry_now.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._retry_now.wait()
        except TimeoutError:
            return

"""The attachment to an agent's tmux session, kept for as long as there is one to attach to."""

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

#: A session that is gone may be relaunched: nobody tells us, so we look, ever more rarely.
_FIRST_RETRY_SECONDS = 0.25
_LAST_RETRY_SECONDS = 15.0
#: A relaunch starts the program first and writes the manifest a moment later.
_MANIFEST_LAG_SECONDS = 2.0
_LOOK_AGAIN_SECONDS = 0.1
_log = logging.getLogger(__name__)


class Link:
    """One control client, attached again whenever the session comes back."""

    def __init__(self, session: Session, *, output: bool, background: Supervisor | None = None) -> None:
        self._manifest_path = session.manifest_path
        self._output = output
        self.session = session
        #: None while there is no session to be attached to.
        self.client: ControlClient | None = None
        #: Which tmux server that is: another one numbers its panes from the start again.
        self.server_pid = ""
        #: Why there is none.
        self.reason = "nobody has looked yet"
        #: Restarts whatever watches the agent when it dies, and reports it.
        self.background = background or Supervisor(_log)
        self._hurry = asyncio.Event()
        self._attaching = asyncio.Lock()
        self._keeper: asyncio.Task[None] | None = None
        self._is_closing = False

    async def attach_now(self) -> None:
        """Attach if that is possible; whoever keeps the link does not wait for its time either."""
        await self._attach()
        self._hurry.set()

    def keep(self, follow: Callable[[ControlClient], Awaitable[None]], lost: Callable[[], None]) -> None:
        """Attach again and again until closed; *follow* runs while attached, *lost* hears of each end."""
        name = f"observer of tmux session {self.session.tmux_session_name}"
        self._keeper = self.background.keep(name, partial(self._attach_forever, follow, lost))

    async def agent_pane(self) -> Pane | None:
        """The pane of window 0; None when the session or the window is gone, and `reason` says why."""
        if self.client is None:
            return None
        target = f"={self.session.tmux_session_name}:0"
        try:
            found = panes.parse(await self.client.command("list-panes", "-t", target, "-F", panes.FORMAT))
        except PosthouseError as error:
            self.reason = str(error)
            return None
        return found[0]

    async def is_named(self, names: Callable[[Session], bool]) -> bool:
        """Whether the manifest names the instance, now or a moment later."""
        deadline = asyncio.get_running_loop().time() + _MANIFEST_LAG_SECONDS
        while True:
            try:
                self.session = sessions.read(self._manifest_path)
            except PosthouseError:
                return False  # a manifest that can't be read names nobody
            if names(self.session):
                return True
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def close(self) -> None:
        self._is_closing = True
        client = self.client  # ending the keeper forgets it
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        if client is not None:
            await client.close()

    async def _attach(self) -> bool:
        """Attach if that is possible now. The manifest is read again: a relaunch may have moved the agent."""
        async with self._attaching:
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
        """Run *follow* until the session ends. If tmux refuses it something, that ends the attachment too.

        Raises:
            Exception: What *follow* died with; the attachment is ended.
        """
        assert self.client is not None
        client = self.client
        following, closed = asyncio.ensure_future(follow(client)), asyncio.ensure_future(client.closed())
        try:
            await asyncio.wait({following, closed}, return_when=asyncio.FIRST_COMPLETED)
            error = following.exception() if following.done() else None
            if isinstance(error, PosthouseError):
                # A command fails an instant before the end of its session is noticed.
                await asyncio.wait({closed}, timeout=_LOOK_AGAIN_SECONDS)
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
        self._hurry.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
        except TimeoutError:
            return

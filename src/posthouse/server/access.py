"""What the tokens of callers elsewhere allow, as their folders say at any moment."""

import asyncio
import logging
from collections.abc import Callable

from posthouse.server import token_store
from posthouse.server.token_store import Keyring, Proofs
from posthouse.support.inotify import FolderWatch
from posthouse.support.supervision import Supervisor
from posthouse.web.scopes import Scope
from posthouse.web.token import NoToken


class Access:
    """The tokens of one server; one that is created or revoked counts at once. True when `open` returns."""

    def __init__(self, tokens: Keyring, log: logging.Logger, background: Supervisor | None = None) -> None:
        self._keyring = tokens
        self._background = background or Supervisor(log)
        self._log = log
        self._proofs = Proofs(scopes={})
        self._watches: list[FolderWatch] = []
        self._changed = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        #: Called after the tokens were read again, so that callers whose token is gone are dropped.
        self.on_change: Callable[[], None] = lambda: None

    def __call__(self, authorization: bytes) -> Scope | None:
        """What an Authorization header proves."""
        return self._proofs(authorization)

    async def open(self) -> None:
        """Raises:
        NoToken: There is none, and none could be made, read or watched.
        """
        try:
            await asyncio.to_thread(self._keyring.provide)
            for folder in self._keyring.folders:
                self._watches.append(FolderWatch(folder, self._changed.set, entries=True))
            await self._read()
        except OSError as error:
            raise NoToken(f"{self._keyring.root}, with the tokens for callers elsewhere: {error}") from error
        self._following = self._background.keep("tokens", self._follow)

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        for watch in self._watches:
            watch.close()

    async def _follow(self) -> None:
        self._changed.set()  # an earlier run may have died before it read the last change
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._read()
            except OSError as error:
                self._proofs = Proofs(scopes={})
                self._log.error("tokens can't be read", extra={"error": str(error)})
            except BaseException:
                # Rather nobody than one whose token was taken away.
                self._proofs = Proofs(scopes={})
                raise
            finally:
                self.on_change()

    async def _read(self) -> None:
        self._proofs, problems = await asyncio.to_thread(token_store.read, self._keyring)
        for problem in problems:
            self._log.warning("a token can't be used", extra={"problem": problem})

"""Authenticates remote callers by bearer token; follows changes of the token folders."""

import asyncio
import logging
from collections.abc import Callable

from posthouse.server import token_store
from posthouse.server.token_store import TokenScopes, TokenStore
from posthouse.support.inotify import FolderWatch
from posthouse.support.supervision import Supervisor
from posthouse.web.scopes import Scope
from posthouse.web.token import NoToken


class TokenAuthenticator:
    """Maps bearer tokens to scopes. Loaded when `open` returns; created and revoked tokens apply at once."""

    def __init__(self, tokens: TokenStore, log: logging.Logger, background: Supervisor | None = None) -> None:
        self._store = tokens
        self._background = background or Supervisor(log)
        self._log = log
        self._scopes = TokenScopes(scopes={})
        self._watches: list[FolderWatch] = []
        self._changed = asyncio.Event()
        self._follow_task: asyncio.Task[None] | None = None
        #: Called after each reload, so that connections with a revoked token are dropped.
        self.on_change: Callable[[], None] = lambda: None

    def __call__(self, authorization: bytes) -> Scope | None:
        """The scope that an Authorization header grants."""
        return self._scopes(authorization)

    async def open(self) -> None:
        """Raises:
        NoToken: The tokens can't be created, read or watched.
        """
        try:
            await asyncio.to_thread(self._store.ensure)
            for folder in self._store.folders:
                self._watches.append(FolderWatch(folder, self._changed.set, entries=True))
            await self._read()
        except OSError as error:
            raise NoToken(f"{self._store.root}, the folder of the server's tokens: {error}") from error
        self._follow_task = self._background.supervise("tokens", self._follow)

    async def close(self) -> None:
        if self._follow_task is not None:
            self._follow_task.cancel()
            await asyncio.gather(self._follow_task, return_exceptions=True)
        for watch in self._watches:
            watch.close()

    async def _follow(self) -> None:
        self._changed.set()  # an earlier run of this task may have died before it read the last change
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._read()
            except OSError as error:
                self._scopes = TokenScopes(scopes={})
                self._log.error("tokens unreadable", extra={"error": str(error)})
            except BaseException:
                # Fail closed: a revoked token must not stay valid.
                self._scopes = TokenScopes(scopes={})
                raise
            finally:
                self.on_change()

    async def _read(self) -> None:
        self._scopes, problems = await asyncio.to_thread(token_store.read_scopes, self._store)
        for problem in problems:
            self._log.warning("token unusable", extra={"problem": problem})

"""The open connections of one server, and the headers that they share."""

import asyncio
import logging
import time
from collections.abc import Coroutine
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posthouse.web.connection import Connection

#: Browsers must not guess the content type.
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")


class ConnectionRegistry:
    """The open connections and running requests of one server."""

    def __init__(self, log: logging.Logger) -> None:
        self.log = log
        self.connections: set[Connection] = set()
        #: Remote connections whose peers have shown a valid token.
        self.authenticated: set[Connection] = set()
        #: Connections of other users, and of remote peers without a token so far, the oldest first.
        self.unauthenticated: dict[Connection, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._second = 0
        self._headers: list[tuple[bytes, bytes]] = []

    @property
    def common_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers of every response. The date is cached for a second; there is no timer."""
        now = int(time.time())
        if now != self._second:
            self._second = now
            self._headers = [(b"date", formatdate(now, usegmt=True).encode()), _NO_SNIFFING]
        return self._headers

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run *work*, a request's response, as a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def remove(self, connection: "Connection") -> None:
        self.connections.discard(connection)
        self.authenticated.discard(connection)
        self.unauthenticated.pop(connection, None)
        self._changed.set()

    async def wait_empty(self) -> None:
        """Return when no connection is open and no request runs."""
        while self.connections or self._tasks:
            self._changed.clear()
            await self._changed.wait()

    async def abort_all(self) -> None:
        """Cancel every running request and abort every connection."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(self.connections):
            connection.transport.abort()

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._changed.set()

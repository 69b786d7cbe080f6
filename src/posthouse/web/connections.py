"""What the connections of one server share."""

import asyncio
import logging
import time
from collections.abc import Coroutine
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posthouse.web.connection import Connection

#: Browsers take an answer for what its content type says, and for nothing else.
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")


class House:
    """Who is there, what is being answered, and what every answer carries."""

    def __init__(self, log: logging.Logger) -> None:
        self.log = log
        self.connections: set[Connection] = set()
        #: Connections from beyond loopback whose peers have shown a token.
        self.guests: set[Connection] = set()
        #: Connections of other users, and of peers that have shown no token yet, the oldest first.
        self.unproved: dict[Connection, None] = {}
        self._at_work: set[asyncio.Task[None]] = set()
        self._is_quieter = asyncio.Event()
        self._second = 0
        self._headers: list[tuple[bytes, bytes]] = []

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What every answer carries. The date is computed when it is asked for: nothing ticks."""
        now = int(time.time())
        if now != self._second:
            self._second = now
            self._headers = [(b"date", formatdate(now, usegmt=True).encode()), _NO_SNIFFING]
        return self._headers

    def let_work(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin to answer something."""
        task = asyncio.create_task(work)
        self._at_work.add(task)
        task.add_done_callback(self._done)

    def left(self, connection: "Connection") -> None:
        self.connections.discard(connection)
        self.guests.discard(connection)
        self.unproved.pop(connection, None)
        self._is_quieter.set()

    async def empty(self) -> None:
        """Return when everybody has left and everything is answered."""
        while self.connections or self._at_work:
            self._is_quieter.clear()
            await self._is_quieter.wait()

    async def clear(self) -> None:
        """Stop everything that is being answered, and hang up on everybody."""
        tasks = list(self._at_work)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(self.connections):
            connection.transport.abort()

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._at_work.discard(task)
        self._is_quieter.set()

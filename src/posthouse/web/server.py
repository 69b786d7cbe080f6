"""Serves one application on one socket, and does nothing while nothing happens.

Leans on internals of uvicorn 0.54, to which the project is pinned: its own server wakes ten times a
second to look at a flag and to keep the Date header fresh.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from email.utils import formatdate

import uvicorn
from starlette.types import ASGIApp

from posthouse.errors import Conflict
from posthouse.web.connection import Connection, House

_BACKLOG = 512
_GRACE_SECONDS = 2


class PortTaken(Conflict):
    """Somebody else listens there."""

    code = "port_taken"


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 lets the system choose one.

    Raises:
        PortTaken: It is not to be had.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # A port whose last gateway has just ended is free, whatever connections linger.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise PortTaken(
            f"{host}:{port} can't be listened on ({error.strerror}); choose another port, or 0 for any"
        ) from error
    return listener


class _DatedHouse(House):
    """Has the headers that every answer carries; the date is computed when it is asked for."""

    def __init__(self, log: logging.Logger) -> None:
        self._second = 0
        self._headers: list[tuple[bytes, bytes]] = []
        super().__init__(log)

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        now = int(time.time())
        if now != self._second:
            self._second = now
            self._headers = [(b"date", formatdate(now, usegmt=True).encode())]
        return self._headers

    @default_headers.setter
    def default_headers(self, _: list[tuple[bytes, bytes]]) -> None:
        """uvicorn sets what it would refresh every second; ours refreshes itself."""


class Server(uvicorn.Server):
    """A uvicorn server that waits for one event instead of ticking.

    *log* gets the traceback when *app* fails; what peers do wrong is told to them alone. *on_stop* is
    called first of all when it is to stop, to end what would go on by itself.
    """

    def __init__(
        self, app: ASGIApp, log: logging.Logger, *, on_stop: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                backlog=_BACKLOG,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self.server_state = _DatedHouse(log)
        self._stopping = asyncio.Event()
        self._on_stop = on_stop

    def stop(self) -> None:
        """Finish what is being answered and return from `listen`."""
        self._on_stop()
        self.should_exit = True
        self._stopping.set()

    async def listen(self, listener: socket.socket) -> None:
        """Serve until `stop`. Signals are the caller's business, not uvicorn's."""
        try:
            await self._serve(sockets=[listener])
        finally:
            # uvicorn leaves them open when it is told to stop before it began, or is cancelled.
            for server in getattr(self, "servers", ()):
                server.close()

    async def main_loop(self) -> None:
        await self._stopping.wait()

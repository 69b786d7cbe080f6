"""Serves one application on one socket, without wake-ups while idle."""

import asyncio
import logging
import socket
from collections.abc import Callable

from starlette.types import ASGIApp

from posthouse.errors import Conflict
from posthouse.web.connection import Connection
from posthouse.web.connections import ConnectionRegistry

_BACKLOG = 512
_GRACE_SECONDS = 2


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 lets the system choose one.

    Raises:
        Conflict: The address can't be bound; code `port_taken`.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # Without it, a port stays taken while old connections are in TIME_WAIT.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise Conflict(
            f"{host}:{port} can't be listened on ({error.strerror}); choose another port, or 0 for any",
            code="port_taken",
        ) from error
    return listener


class Server:
    """Serves *app* from `listen` to `stop`.

    *log* gets the traceback when *app* fails; errors of peers are not logged. *on_stop* is called at the
    start of `stop`, to end streams.
    """

    def __init__(
        self, app: ASGIApp, log: logging.Logger, *, on_stop: Callable[[], None] = lambda: None
    ) -> None:
        self._app = app
        self._registry = ConnectionRegistry(log)
        self._stopping = asyncio.Event()
        self._on_stop = on_stop

    def stop(self) -> None:
        """Finish the running requests and return from `listen`."""
        self._on_stop()
        self._stopping.set()

    async def listen(self, listener: socket.socket) -> None:
        """Serve until `stop`. The caller handles signals."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: Connection(self._registry, self._app), sock=listener, backlog=_BACKLOG
        )
        try:
            await self._stopping.wait()
        finally:
            server.close()
        await self._drain()

    async def _drain(self) -> None:
        """Wait for the running requests; abort them after 2 s."""
        for connection in list(self._registry.connections):
            connection.finish()
        try:
            async with asyncio.timeout(_GRACE_SECONDS):
                await self._registry.wait_empty()
        except TimeoutError:
            await self._registry.abort_all()

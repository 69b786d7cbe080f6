"""Serves one application on one socket, and does nothing while nothing happens."""

import asyncio
import logging
import socket
from collections.abc import Callable

from starlette.types import ASGIApp

from posthouse.errors import Conflict
from posthouse.web.connection import Connection
from posthouse.web.connections import House

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


class Server:
    """Serves *app* from `listen` to `stop`.

    *log* gets the traceback when *app* fails; what peers do wrong is told to them alone. *on_stop* is
    called first of all when it is to stop, to end what would go on by itself.
    """

    def __init__(
        self, app: ASGIApp, log: logging.Logger, *, on_stop: Callable[[], None] = lambda: None
    ) -> None:
        self._app = app
        self._house = House(log)
        self._stopping = asyncio.Event()
        self._on_stop = on_stop

    def stop(self) -> None:
        """Finish what is being answered and return from `listen`."""
        self._on_stop()
        self._stopping.set()

    async def listen(self, listener: socket.socket) -> None:
        """Serve until `stop`. Signals are the caller's business."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: Connection(self._house, self._app), sock=listener, backlog=_BACKLOG
        )
        try:
            await self._stopping.wait()
        finally:
            server.close()
        await self._part()

    async def _part(self) -> None:
        """Let everybody hear their answers; who takes long is hung up on."""
        for connection in list(self._house.connections):
            connection.shut()
        try:
            async with asyncio.timeout(_GRACE_SECONDS):
                await self._house.empty()
        except TimeoutError:
            await self._house.clear()

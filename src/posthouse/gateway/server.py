"""Serves one application on one socket, and does nothing while nothing happens.

Leans on internals of uvicorn 0.54, to which the project is pinned: its own server wakes ten times a
second to look at a flag and to keep the Date header fresh.
"""

import asyncio
import os
import socket
import time
from email.utils import formatdate
from ipaddress import ip_address

import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from posthouse.errors import Conflict
from posthouse.support import peers

_MAX_CONNECTIONS = 512
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


class _Guarded(HttpToolsProtocol):
    """An HTTP connection whose peer was asked for once, when it was made."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        if not _is_welcome(transport):
            self.app = _turn_away


def _is_welcome(transport: asyncio.Transport) -> bool:
    """Whether the peer is our own user or root. Who is not on this machine is the door's to judge."""
    peer, here = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
    if not peer or not here or not ip_address(peer[0]).is_loopback:
        return True
    try:
        uid = peers.uid_of(peer[:2], here[:2])
    except OSError:
        return False  # a kernel that does not tell lets nobody in
    return uid in (0, os.geteuid())


async def _turn_away(scope: Scope, receive: Receive, send: Send) -> None:
    await JSONResponse({"detail": "This gateway serves the user it runs as"}, 403)(scope, receive, send)


class _State(ServerState):
    """Headers that every answer carries; the date is computed when it is asked for."""

    def __init__(self) -> None:
        self._second = 0
        self._headers: list[tuple[bytes, bytes]] = []
        super().__init__()

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
    """A uvicorn server that waits for one event instead of ticking."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_Guarded,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                limit_concurrency=_MAX_CONNECTIONS,
                backlog=_BACKLOG,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self.server_state = _State()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Finish what is being answered and return from `listen`."""
        self.should_exit = True
        self._stopping.set()

    async def listen(self, listener: socket.socket) -> None:
        """Serve until `stop`. Signals are the caller's business, not uvicorn's."""
        await self._serve(sockets=[listener])

    async def main_loop(self) -> None:
        await self._stopping.wait()

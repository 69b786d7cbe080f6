"""The host's control socket: one line of JSON per request and response. Same user or root only."""

import asyncio
import logging
import os
import socket
import struct
from pathlib import Path
from typing import Any

import msgspec

from posthouse.contracts import gateway_host as gh
from posthouse.contracts import strict
from posthouse.errors import PosthouseError
from posthouse.gateway.host.host import Host
from posthouse.gateway_lifecycle import host_client, host_registry
from posthouse.support import ownership

_READ_SECONDS = 5.0
#: Longer than any attach waits, so that its caller has gone by then.
_ANSWER_SECONDS = 90.0
_MAX_CONNECTIONS = 64
_BACKLOG = 128
#: Process, user and group of the peer.
_PEER = struct.Struct("3i")


def listen(runtime_root: Path) -> socket.socket:
    """The listening socket, 0600. The caller holds the host's lock, so an existing socket file is stale."""
    folder = host_registry.folder_of(runtime_root)
    (folder / gh.SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    with host_client.socket_path(folder) as path:
        listener.bind(path)
    (folder / gh.SOCKET).chmod(0o600)
    listener.listen(_BACKLOG)
    return listener


class ControlSocket:
    """Serves the control socket of one host."""

    def __init__(self, host: Host, log: logging.Logger) -> None:
        self._host = host
        self._log = log
        self._connections = 0

    async def serve(self, listener: socket.socket) -> asyncio.Server:
        """Start serving on *listener*."""
        return await asyncio.start_unix_server(self._handle, sock=listener, limit=gh.MAX_LINE_BYTES)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= _MAX_CONNECTIONS and _is_ours(writer):
                await self._exchange(reader, writer)
        except (OSError, TimeoutError, ValueError) as error:
            # The client hung up, was too slow, or sent too long a line.
            self._log.info("host control connection dropped", extra={"error": str(error)})
        finally:
            self._connections -= 1
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_READ_SECONDS):
            line = await reader.readline()
        async with asyncio.timeout(_ANSWER_SECONDS):
            answer = await self._answer(line)
            writer.write(msgspec.json.encode(answer) + b"\n")
            await writer.drain()

    async def _answer(self, line: bytes) -> gh.HostResponse:
        try:
            return gh.HostResponse(
                pid=os.getpid(), gateways=await self._dispatch(strict.decode(line, gh.HostRequest))
            )
        except (PosthouseError, ValueError) as error:
            code = error.code if isinstance(error, PosthouseError) else "bad_question"
            return gh.HostResponse(pid=os.getpid(), code=code, message=str(error))
        except Exception as error:  # noqa: BLE001 - a bug in one request must not end the host
            self._log.exception("host control request failed")
            return gh.HostResponse(
                pid=os.getpid(), code="host_failed", message=f"{type(error).__name__}: {error}"
            )

    async def _dispatch(self, request: gh.HostRequest) -> tuple[gh.HostedGatewayStatus, ...]:
        if request.ask == "list":
            return self._host.statuses()
        if request.seat is None:
            raise ValueError(f"{request.ask} needs a seat")
        action = self._host.adopt if request.ask == "adopt" else self._host.release
        return await action(request.seat)


def _is_ours(writer: asyncio.StreamWriter) -> bool:
    connection: Any = writer.get_extra_info("socket")
    _, user, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return ownership.is_own(user)

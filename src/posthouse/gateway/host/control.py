"""The host's control socket: one line of JSON is asked, one is answered. Same user or root only."""

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

_QUESTION_SECONDS = 5.0
#: Longer than any attach waits; then its caller has gone.
_ANSWER_SECONDS = 90.0
_MAX_CALLERS = 64
_BACKLOG = 128
#: Process, user and group of the other end.
_PEER = struct.Struct("3i")


def listen(runtime_root: Path) -> socket.socket:
    """The listening socket, 0600. The caller holds the host's lock, so what lies there is a dead host's."""
    folder = host_registry.folder_of(runtime_root)
    (folder / gh.SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    with host_client.socket_path(folder) as path:
        listener.bind(path)
    (folder / gh.SOCKET).chmod(0o600)
    listener.listen(_BACKLOG)
    return listener


class Control:
    """Answers what is asked of one host."""

    def __init__(self, host: Host, log: logging.Logger) -> None:
        self._host = host
        self._log = log
        self._callers = 0

    async def serve(self, listener: socket.socket) -> asyncio.Server:
        """Begin to answer on *listener*."""
        return await asyncio.start_unix_server(self._call, sock=listener, limit=gh.MAX_LINE_BYTES)

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._callers += 1
        try:
            if self._callers <= _MAX_CALLERS and _is_ours(writer):
                await self._converse(reader, writer)
        except (OSError, TimeoutError, ValueError) as error:
            # Hung up, too slow, or too long a line: its own affair.
            self._log.info("a caller of the host was left", extra={"error": str(error)})
        finally:
            self._callers -= 1
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_QUESTION_SECONDS):
            line = await reader.readline()
        async with asyncio.timeout(_ANSWER_SECONDS):
            answer = await self._answer(line)
            writer.write(msgspec.json.encode(answer) + b"\n")
            await writer.drain()

    async def _answer(self, line: bytes) -> gh.Answer:
        try:
            return gh.Answer(pid=os.getpid(), gateways=await self._do(strict.decode(line, gh.Question)))
        except (PosthouseError, ValueError) as error:
            code = error.code if isinstance(error, PosthouseError) else "bad_question"
            return gh.Answer(pid=os.getpid(), code=code, message=str(error))
        except Exception as error:  # noqa: BLE001 - one caller's fault must not cost the others their host
            self._log.exception("a question could not be answered")
            return gh.Answer(pid=os.getpid(), code="host_failed", message=f"{type(error).__name__}: {error}")

    async def _do(self, question: gh.Question) -> tuple[gh.Tenancy, ...]:
        if question.ask == "list":
            return self._host.listing()
        if question.seat is None:
            raise ValueError(f"{question.ask} needs a seat")
        act = self._host.adopt if question.ask == "adopt" else self._host.release
        return await act(question.seat)


def _is_ours(writer: asyncio.StreamWriter) -> bool:
    connection: Any = writer.get_extra_info("socket")
    _, user, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return ownership.is_own(user)

"""An attached control client of one session: receives output and sends commands on one connection.

The tmux server reads and writes one end of a socket pair. Commands are pipelined; replies arrive in the order
of the commands. There is no tmux process (`control_socket`): the server drops the client when we are killed.
"""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from posthouse.terminal import pane as panes
from posthouse.terminal import quoting
from posthouse.terminal.client import NoServer, Server, attach_command, timeout_error, tmux_error
from posthouse.terminal.control_socket import DISMISSALS, FD_MARKS, ControlSocket, message_types, open_control
from posthouse.terminal.protocol import (
    ControlProtocolError,
    Event,
    Output,
    Parser,
    Paused,
    Reply,
    SessionsChanged,
)
from posthouse.terminal.screen import Screen

logger = logging.getLogger(__name__)

#: A pane's id and the bytes its program wrote; no bytes mean another change, such as copy mode.
Listener = Callable[[str, bytes], None]

#: More commands in flight mean that the server does not answer.
_MAX_PENDING = 1024
_MAX_UNSENT_BYTES = 8 * 1024 * 1024
_MESSAGE_BYTES = 16384
#: Delay before a retry when the server's queue of new clients is full.
_RETRY_SECONDS = 0.02

_DECLINED = "declined"
_DECLINE = quoting.nested(("display-message", "-p", _DECLINED))


class Detached(NoServer):
    """The session or its server ended, or this client was closed."""

    code = "tmux_detached"

    def __init__(self, server: Server, session: str) -> None:
        Exception.__init__(self, f"tmux session {session!r} of {server} is gone")


class ControlClient:
    """A client attached to one session. Made by `attach`; closes when the session or the server ends."""

    def __init__(self, server: Server, session: str, control: socket.socket, timeout_seconds: float) -> None:
        self._server = server
        self._session = session
        self._timeout_seconds = timeout_seconds
        self._protocol = _ControlProtocol(control, lambda: Detached(server, session))

    @classmethod
    async def attach(
        cls, server: Server, session: str, *, output: bool, timeout_seconds: float = 5.0
    ) -> "ControlClient":
        """A client of *session*, with or without its output.

        Raises:
            Unavailable, NoServer: As in `client.Tmux.run`.
            TmuxRefused: There is no such session.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                for fd_mark in FD_MARKS[:-1]:
                    try:
                        return await cls._attach(server, session, timeout_seconds, fd_mark, output=output)
                    except NoServer:
                        continue  # a server of another version hangs up at once
                return await cls._attach(server, session, timeout_seconds, FD_MARKS[-1], output=output)
        except TimeoutError:
            raise timeout_error(server, timeout_seconds) from None

    @classmethod
    async def _attach(
        cls, server: Server, session: str, timeout_seconds: float, fd_mark: int, *, output: bool
    ) -> "ControlClient":
        opened = await _open(server, session, fd_mark, output=output)
        client = cls(server, session, opened.control, timeout_seconds)
        try:
            await asyncio.get_running_loop().create_unix_connection(
                lambda: client._protocol, sock=opened.stream
            )
        except BaseException:
            opened.close()
            raise
        try:
            await client._result(client._protocol.attached, "attach-session")
        except BaseException:
            client._protocol.abort()
            await client.closed()
            raise
        return client

    async def command(self, *command: str) -> str:
        """Run one command and return its output.

        Raises:
            TmuxRefused: tmux returned an error.
            Unavailable: `tmux_frozen`: no answer in time; the command may still run.
            NoServer: The session or the server ended.
        """
        return await self._run(command, replies=1)

    async def capture(self, pane_id: str) -> Screen:
        """What the pane shows now. Raises as `command` does."""
        return (await self.inspect(pane_id))[1]

    async def inspect(self, pane_id: str) -> tuple[panes.Pane, Screen]:
        """The pane and its screen now, in one round trip. Raises as `command` does."""
        commands = (
            ("display-message", "-p", "-t", pane_id, panes.FORMAT),
            ("capture-pane", "-p", "-e", "-t", pane_id),
        )
        self._require_capacity()
        sent = self._protocol.send_all(commands)
        about, rows = await asyncio.gather(*(self._result(reply, "capture-pane") for reply in sent))
        pane = panes.split(about)[0]
        return pane, panes.screen_of(pane, rows)

    async def pane(self, pane_id: str) -> panes.Pane:
        """The pane's properties now. Raises as `command` does."""
        return panes.split(await self.command("display-message", "-p", "-t", pane_id, panes.FORMAT))[0]

    async def command_if(self, pane_id: str, condition: str, command: Sequence[str]) -> bool:
        """Run *command* if the format *condition* is 1 for the pane, atomically.

        False: the condition was not met and the command did not run. Raises as `command` does.
        """
        # For a pane that is gone tmux would evaluate the format on another one.
        of_this_pane = f"#{{&&:#{{==:#{{pane_id}},{pane_id}}},{condition}}}"
        words = ("if-shell", "-F", "-t", pane_id, of_this_pane, quoting.nested(command), _DECLINE)
        # tmux replies to `if-shell` and to the command that it runs.
        return await self._run(words, replies=2) != _DECLINED

    def watch(self, listener: Listener) -> Callable[[], None]:
        """Call *listener* for every change, on the loop; it must not block. Returns the unsubscriber."""
        self._protocol.listeners.append(listener)
        return lambda: self._protocol.listeners.remove(listener)

    def watch_sessions(self, listener: Callable[[], None]) -> None:
        """Call *listener* whenever a session of the server is made or ends, on the loop."""
        self._protocol.session_listeners.append(listener)

    async def closed(self) -> None:
        """Return when the session or the server has ended, or `close` was called."""
        await asyncio.shield(self._protocol.lost)

    async def close(self) -> None:
        """Detach. A second call changes nothing."""
        self._protocol.abort()
        await self.closed()

    async def _run(self, command: Sequence[str], *, replies: int) -> str:
        self._require_capacity()
        return await self._result(self._protocol.send(command, replies=replies), command[0])

    def _require_capacity(self) -> None:
        if self._protocol.is_saturated():
            raise timeout_error(self._server, self._timeout_seconds)

    async def _result(self, future: asyncio.Future[Reply], command: str) -> str:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                reply = await future
        except TimeoutError:
            raise timeout_error(self._server, self._timeout_seconds) from None
        if reply.failed:
            raise tmux_error(self._server, command, reply.text)
        return reply.text


@dataclass(slots=True)
class _InFlight:
    """A command in flight. Its last reply is the result; a failure ends it early."""

    result: asyncio.Future[Reply]
    replies_left: int


class _ControlProtocol(asyncio.Protocol):
    """The connection: pending commands, listeners, and the loss of the connection."""

    def __init__(self, control: socket.socket, detached: Callable[[], Detached]) -> None:
        loop = asyncio.get_running_loop()
        self.attached: asyncio.Future[Reply] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        self.listeners: list[Listener] = []
        self.session_listeners: list[Callable[[], None]] = []
        self._pending: deque[_InFlight] = deque()
        self._parser = Parser()
        self._control = control
        self._control_connection: _ControlConnection | None = None
        self._detached = detached
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not subclass asyncio's, but have the same methods.
        self._transport = cast("asyncio.Transport", transport)
        self._control_connection = _ControlConnection(self._control)

    def is_saturated(self) -> bool:
        unsent = self._transport.get_write_buffer_size() if self._transport else 0
        return len(self._pending) >= _MAX_PENDING or unsent > _MAX_UNSENT_BYTES

    def send(self, command: Sequence[str], *, replies: int = 1) -> asyncio.Future[Reply]:
        return self.send_all([command], replies=replies)[0]

    def send_all(self, commands: Sequence[Sequence[str]], *, replies: int = 1) -> list[asyncio.Future[Reply]]:
        """Send in one write, which the server reads at once: no output is interleaved."""
        lines = b"".join(map(quoting.line, commands))
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Reply]] = [loop.create_future() for _ in commands]
        if self._transport is None or self.lost.done():
            for future in futures:
                future.set_exception(self._detached())
            return futures
        # A cancelled command keeps its place: replies are matched by order.
        self._pending.extend(_InFlight(future, replies) for future in futures)
        self._transport.write(lines)
        return futures

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        try:
            events = self._parser.feed(data)
        except ControlProtocolError:
            logger.exception("tmux control connection aborted: invalid protocol data")
            self.abort()
            return
        for event in events:
            self._handle(event)

    def connection_lost(self, error: Exception | None) -> None:
        for future in (self.attached, *(in_flight.result for in_flight in self._pending)):
            if not future.done():
                future.set_exception(self._detached())
                future.exception()  # a waiter may be cancelled: do not log it as never retrieved
        self._pending.clear()
        if self._control_connection is not None:
            self._control_connection.close()
        if not self.lost.done():
            self.lost.set_result(None)

    def _handle(self, event: Event) -> None:
        match event:
            case Reply(ours=False):
                _resolve(self.attached, event)
            case Reply() if self._pending:
                self._handle_reply(event)
            case Output(pane_id, content):
                self._notify(pane_id, content)
            case Paused(pane_id):
                self.send(("refresh-client", "-A", f"{pane_id}:continue"))
                self._notify(pane_id, b"")
            case SessionsChanged():
                for listener in tuple(self.session_listeners):
                    listener()

    def _handle_reply(self, reply: Reply) -> None:
        in_flight = self._pending[0]
        in_flight.replies_left -= 1
        if reply.failed or not in_flight.replies_left:
            self._pending.popleft()
            _resolve(in_flight.result, reply)

    def _notify(self, pane_id: str, content: bytes) -> None:
        for listener in tuple(self.listeners):
            try:
                listener(pane_id, content)
            except Exception:  # one listener's failure must not stop the others
                logger.exception("output listener failed", extra={"pane_id": pane_id})


class _ControlConnection:
    """The control socket of the client, closed when the server dismisses the client.

    The server then drops the client, so that the stream ends after its last bytes.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._rest = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(control, self._receive)

    def close(self) -> None:
        """Detach. A second call changes nothing."""
        if self._control.fileno() != -1:
            self._loop.remove_reader(self._control)
            self._control.close()

    def _receive(self) -> None:
        try:
            received = self._control.recv(_MESSAGE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        kinds, self._rest = message_types(self._rest + received)
        if not received or not DISMISSALS.isdisjoint(kinds):
            self.close()


async def _open(server: Server, session: str, fd_mark: int, *, output: bool) -> ControlSocket:
    command = attach_command(session, output=output)
    while True:
        try:
            return open_control(server, command, fd_mark=fd_mark)
        except BlockingIOError:
            await asyncio.sleep(_RETRY_SECONDS)


def _resolve(future: asyncio.Future[Reply], reply: Reply) -> None:
    if not future.done():
        future.set_result(reply)

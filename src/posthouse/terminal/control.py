"""A client that stays attached to one session: receives its output, sends commands on the same connection.

tmux's server reads and writes our end of a socket pair. Commands are pipelined, and replies come in the order
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
from posthouse.terminal.client import NoServer, Server, TmuxFrozen, attach_command, refusal
from posthouse.terminal.control_socket import DISMISSALS, FD_MARKS, ControlSocket, message_types, open_control
from posthouse.terminal.protocol import (
    Event,
    GarbledTmux,
    Output,
    Parser,
    Paused,
    Reply,
    SessionsChanged,
)
from posthouse.terminal.screen import Screen

logger = logging.getLogger(__name__)

#: A pane's id and the bytes its program wrote; no bytes mean that it changed in another way.
Listener = Callable[[str, bytes], None]

#: More than this in flight means that nobody answers.
_MAX_PENDING = 1024
_MAX_UNSENT_BYTES = 8 * 1024 * 1024
_MESSAGE_BYTES = 16384
#: A server whose queue of new clients is full is tried again after this.
_RETRY_SECONDS = 0.02

_DECLINED = "declined"
_DECLINE = quoting.nested(("display-message", "-p", _DECLINED))


class Detached(NoServer):
    """The session or its server ended, or this client was closed."""

    code = "tmux_detached"

    def __init__(self, server: Server, session: str) -> None:
        Exception.__init__(self, f"tmux session {session!r} of {server} is gone")


class ControlClient:
    """One attached session. Made by `attach`; ends by itself with the session or the server."""

    def __init__(self, server: Server, session: str, control: socket.socket, timeout_seconds: float) -> None:
        self._server = server
        self._session = session
        self._timeout_seconds = timeout_seconds
        self._wire = _Wire(control, lambda: Detached(server, session))

    @classmethod
    async def attach(
        cls, server: Server, session: str, *, output: bool, timeout_seconds: float = 5.0
    ) -> "ControlClient":
        """A client of *session*, with or without its output.

        Raises:
            TmuxMissing, TmuxFrozen, NoServer: As in `client.Tmux.run`.
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
            raise TmuxFrozen(server, timeout_seconds) from None

    @classmethod
    async def _attach(
        cls, server: Server, session: str, timeout_seconds: float, fd_mark: int, *, output: bool
    ) -> "ControlClient":
        opened = await _open(server, session, fd_mark, output=output)
        client = cls(server, session, opened.control, timeout_seconds)
        try:
            await asyncio.get_running_loop().create_unix_connection(lambda: client._wire, sock=opened.stream)
        except BaseException:
            opened.close()
            raise
        try:
            await client._answer(client._wire.attached, "attach-session")
        except BaseException:
            client._wire.abort()
            await client.closed()
            raise
        return client

    async def command(self, *command: str) -> str:
        """Run one command; what it printed.

        Raises:
            TmuxRefused: tmux said no.
            TmuxFrozen: No answer in time; it may still be done.
            NoServer: The session or the server ended.
        """
        return await self._ask(command, replies=1)

    async def capture(self, pane_id: str) -> Screen:
        """What the pane shows now. Raises as `command` does."""
        return (await self.look(pane_id))[1]

    async def look(self, pane_id: str) -> tuple[panes.Pane, Screen]:
        """The pane and what it shows now, asked in one go. Raises as `command` does."""
        commands = (
            ("display-message", "-p", "-t", pane_id, panes.FORMAT),
            ("capture-pane", "-p", "-e", "-t", pane_id),
        )
        self._require_room()
        sent = self._wire.send_all(commands)
        about, rows = await asyncio.gather(*(self._answer(reply, "capture-pane") for reply in sent))
        pane = panes.split(about)[0]
        return pane, panes.screen_of(pane, rows)

    async def pane(self, pane_id: str) -> panes.Pane:
        """What tmux knows of the pane now. Raises as `command` does."""
        return panes.split(await self.command("display-message", "-p", "-t", pane_id, panes.FORMAT))[0]

    async def command_if(self, pane_id: str, condition: str, command: Sequence[str]) -> bool:
        """Run *command* if the format *condition* is 1 for the pane, with nothing in between.

        False when it was not and nothing was done. Raises as `command` does.
        """
        # For a pane that is gone tmux would ask another one.
        of_this_pane = f"#{{&&:#{{==:#{{pane_id}},{pane_id}}},{condition}}}"
        words = ("if-shell", "-F", "-t", pane_id, of_this_pane, quoting.nested(command), _DECLINE)
        # tmux answers for the question and for the one command that it leads to.
        return await self._ask(words, replies=2) != _DECLINED

    def watch(self, listener: Listener) -> Callable[[], None]:
        """Call *listener* for every change, on the loop; it must not block. Returns what ends that."""
        self._wire.listeners.append(listener)
        return lambda: self._wire.listeners.remove(listener)

    def watch_sessions(self, listener: Callable[[], None]) -> None:
        """Call *listener* whenever a session of the server is made or ends, on the loop."""
        self._wire.session_listeners.append(listener)

    async def closed(self) -> None:
        """Return when the session or the server has ended, or `close` was called."""
        await asyncio.shield(self._wire.lost)

    async def close(self) -> None:
        """Detach. A second call changes nothing."""
        self._wire.abort()
        await self.closed()

    async def _ask(self, command: Sequence[str], *, replies: int) -> str:
        self._require_room()
        return await self._answer(self._wire.send(command, replies=replies), command[0])

    def _require_room(self) -> None:
        if self._wire.is_choked():
            raise TmuxFrozen(self._server, self._timeout_seconds)

    async def _answer(self, future: asyncio.Future[Reply], command: str) -> str:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                reply = await future
        except TimeoutError:
            raise TmuxFrozen(self._server, self._timeout_seconds) from None
        if reply.failed:
            raise refusal(self._server, command, reply.text)
        return reply.text


@dataclass(slots=True)
class _Awaited:
    """A command under way. Its last reply is the answer; a failure ends it early."""

    answer: asyncio.Future[Reply]
    replies_left: int


class _Wire(asyncio.Protocol):
    """The bytes: what waits for a reply, who listens, and the end of it all."""

    def __init__(self, control: socket.socket, gone: Callable[[], Detached]) -> None:
        loop = asyncio.get_running_loop()
        self.attached: asyncio.Future[Reply] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        self.listeners: list[Listener] = []
        self.session_listeners: list[Callable[[], None]] = []
        self._pending: deque[_Awaited] = deque()
        self._parser = Parser()
        self._control = control
        self._control_end: _ControlEnd | None = None
        self._gone = gone
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's are no subclasses of asyncio's, and do the same.
        self._transport = cast("asyncio.Transport", transport)
        self._control_end = _ControlEnd(self._control)

    def is_choked(self) -> bool:
        unsent = self._transport.get_write_buffer_size() if self._transport else 0
        return len(self._pending) >= _MAX_PENDING or unsent > _MAX_UNSENT_BYTES

    def send(self, command: Sequence[str], *, replies: int = 1) -> asyncio.Future[Reply]:
        return self.send_all([command], replies=replies)[0]

    def send_all(self, commands: Sequence[Sequence[str]], *, replies: int = 1) -> list[asyncio.Future[Reply]]:
        """Send in one write, which the server reads at once: no output comes in between."""
        lines = b"".join(map(quoting.line, commands))
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Reply]] = [loop.create_future() for _ in commands]
        if self._transport is None or self.lost.done():
            for future in futures:
                future.set_exception(self._gone())
            return futures
        # Given up or not, each keeps its place: replies are matched by order.
        self._pending.extend(_Awaited(future, replies) for future in futures)
        self._transport.write(lines)
        return futures

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        try:
            events = self._parser.feed(data)
        except GarbledTmux:
            logger.exception("tmux control client given up")
            self.abort()
            return
        for event in events:
            self._take(event)

    def connection_lost(self, error: Exception | None) -> None:
        for future in (self.attached, *(awaited.answer for awaited in self._pending)):
            if not future.done():
                future.set_exception(self._gone())
                future.exception()  # somebody may have stopped waiting
        self._pending.clear()
        if self._control_end is not None:
            self._control_end.close()
        if not self.lost.done():
            self.lost.set_result(None)

    def _take(self, event: Event) -> None:
        match event:
            case Reply(ours=False):
                _settle(self.attached, event)
            case Reply() if self._pending:
                self._take_reply(event)
            case Output(pane_id, content):
                self._tell(pane_id, content)
            case Paused(pane_id):
                self.send(("refresh-client", "-A", f"{pane_id}:continue"))
                self._tell(pane_id, b"")
            case SessionsChanged():
                for listener in tuple(self.session_listeners):
                    listener()

    def _take_reply(self, reply: Reply) -> None:
        awaited = self._pending[0]
        awaited.replies_left -= 1
        if reply.failed or not awaited.replies_left:
            self._pending.popleft()
            _settle(awaited.answer, reply)

    def _tell(self, pane_id: str, content: bytes) -> None:
        for listener in tuple(self.listeners):
            try:
                listener(pane_id, content)
            except Exception:  # one listener's fault must not cost the others their session
                logger.exception("output listener failed", extra={"pane_id": pane_id})


class _ControlEnd:
    """The socket that makes the client, closed when the server dismisses it.

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


def _settle(future: asyncio.Future[Reply], reply: Reply) -> None:
    if not future.done():
        future.set_result(reply)

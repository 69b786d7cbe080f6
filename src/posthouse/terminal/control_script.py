"""Runs a list of commands through a control client and detaches, without an event loop."""

import contextlib
import select
import time
from collections.abc import Iterator, Sequence
from itertools import islice

from posthouse.terminal import quoting
from posthouse.terminal.client import NoServer, Server, attach_command, timeout_error, tmux_error
from posthouse.terminal.control_socket import FD_MARKS, ControlSocket, open_control
from posthouse.terminal.protocol import Parser, Reply

_RETRY_SECONDS = 0.02
_READ_BYTES = 65536


def run(
    server: Server, session: str, commands: Sequence[Sequence[str]], *, timeout_seconds: float
) -> list[Reply]:
    """The reply to each of *commands*, failures among them.

    Raises:
        NoServer, ControlProtocolError: The server is not running, or ended; commands may have run.
        TmuxRefused: The session does not exist; no command ran.
        Unavailable: tmux is not installed, or did not answer in time; commands may have run.
    """
    deadline = time.monotonic() + timeout_seconds
    script = b"".join(quoting.line(command) for command in commands)
    try:
        with contextlib.closing(_attached(server, session, deadline)) as client:
            return client.replies(script, len(commands))
    except TimeoutError:
        raise timeout_error(server, timeout_seconds) from None


def _attached(server: Server, session: str, deadline: float) -> "_Client":
    for fd_mark in FD_MARKS:
        try:
            client = _Client(server, _open(server, session, fd_mark, deadline), deadline)
        except NoServer:
            continue
        try:
            client.require_attached()
            return client
        except NoServer:
            client.close()  # a server of another version hangs up at once
        except BaseException:
            client.close()
            raise
    raise NoServer(server)


def _open(server: Server, session: str, fd_mark: int, deadline: float) -> ControlSocket:
    command = attach_command(session, output=False)
    while True:
        try:
            return open_control(server, command, fd_mark=fd_mark)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError from None
            time.sleep(_RETRY_SECONDS)


class _Client:
    """A control client that blocks until its deadline."""

    def __init__(self, server: Server, opened: ControlSocket, deadline: float) -> None:
        self._server = server
        self._opened = opened
        self._deadline = deadline
        self._unsent = memoryview(b"")
        self._replies = self._read_replies()

    def require_attached(self) -> None:
        reply = next(self._replies, None)
        if reply is None:
            raise NoServer(self._server)
        if reply.failed:
            raise tmux_error(self._server, "attach-session", reply.text)

    def replies(self, script: bytes, count: int) -> list[Reply]:
        self._unsent = memoryview(script)
        replies = list(islice(self._replies, count))
        if len(replies) != count:
            raise NoServer(self._server)
        return replies

    def close(self) -> None:
        self._opened.close()

    def _read_replies(self) -> Iterator[Reply]:
        """Yield replies until the connection ends; unsent data is sent meanwhile."""
        parser, stream, poll = Parser(), self._opened.stream, select.poll()
        while True:
            poll.register(stream, select.POLLIN | (select.POLLOUT if self._unsent else 0))
            if not poll.poll(max(self._deadline - time.monotonic(), 0.0) * 1000):
                raise TimeoutError
            try:
                if self._unsent:
                    with contextlib.suppress(BlockingIOError):
                        self._unsent = self._unsent[stream.send(self._unsent) :]
                received = stream.recv(_READ_BYTES)
            except BlockingIOError:
                continue
            except ConnectionError:
                return
            if not received:
                return
            yield from (event for event in parser.feed(received) if isinstance(event, Reply))

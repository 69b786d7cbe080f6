"""Opens a control client on the socket of a tmux server, without a tmux process.

A `tmux -C` process announces itself in several writes: first that it is a control client, last that it is
complete. Up to tmux 3.6 the server crashes, with every agent on it, when it notifies or loses such a client
in between: a session that begins or ends, or a client that is killed at that moment, is enough. Here both
messages are in one write, which the server reads at once, so that state never occurs.

The protocol is OpenBSD's imsg, version 8 since tmux 2.1. When this process dies, the kernel closes the
socket, and the server drops the client.

The client asks for one buffer for both directions, as `tmux -CC` does. With a buffer for each, tmux 3.3a can
see the end of the input, then output of the pane, then room for writing, all in one round of its event loop:
it skips the output, then fails to write what it has skipped, and exits ("not enough data").
"""

import array
import itertools
import os
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from posthouse.terminal.client import NoServer, Server, TmuxRefused, missing_error, tmux_error

_PROTOCOL_VERSION = 8
_IDENTIFY_TERM = 101
_IDENTIFY_TTYNAME = 102
_IDENTIFY_STDIN = 104
_IDENTIFY_DONE = 106
_IDENTIFY_CLIENTPID = 107
_IDENTIFY_CWD = 108
_IDENTIFY_STDOUT = 110
_IDENTIFY_LONGFLAGS = 111
_COMMAND = 200
#: After these the server waits for the client to leave: version, detach, detach-kill, exit, exited, shutdown.
DISMISSALS = frozenset((12, 201, 202, 203, 204, 210))
_CONTROL, _ONE_BUFFER, _UTF8 = 0x2000, 0x4000, 0x10000

#: Type, length with this header, marks, protocol version, process (none).
_HEADER = struct.Struct("=IIII")
_NO_PID = 0xFFFFFFFF
#: Set in the length of a message with a file descriptor. tmux 3.6 changed it.
FD_MARKS = (0x1_0000, 0x8000_0000)
_MAX_MESSAGE_BYTES = 16384
_LENGTH_MASK = 0xFFFF
#: For unique client names.
_numbers = itertools.count(1)


class ControlSocket(NamedTuple):
    """An opened control client. Closing `control` detaches it."""

    #: Closing it ends the client. Messages of the server on it are ignored, except dismissals.
    control: socket.socket
    #: Carries commands to the server, replies and notifications back.
    stream: socket.socket

    def close(self) -> None:
        self.control.close()
        self.stream.close()


def open_control(server: Server, command: Sequence[str], *, fd_mark: int = FD_MARKS[0]) -> ControlSocket:
    """A control client of *server* that first runs *command*; its reply is on the stream. Does not block.

    Raises:
        NoServer: No server listens there, or it hung up.
        Unavailable: tmux is not installed.
        TmuxRefused: The server belongs to another user, or the command is too long.
        BlockingIOError: The server's connection queue is full; try again.
    """
    # Encoded before connecting: an invalid message would crash the server.
    first, second, third = _messages(command, fd_mark)
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        control.setblocking(False)
        _connect(control, server)
        ours, theirs = socket.socketpair()
    except BaseException:
        control.close()
        raise
    try:
        ours.setblocking(False)
        with theirs:
            _send(control, first, theirs)
            _send(control, second, theirs)
            _send(control, third, None)
    except BaseException as error:
        ours.close()
        control.close()
        if isinstance(error, ConnectionError):
            raise NoServer(server) from error
        raise
    return ControlSocket(control, ours)


def _messages(command: Sequence[str], fd_mark: int) -> tuple[bytes, bytes, bytes]:
    """The announcement in three writes: the first two carry a descriptor each, the last has the flags."""
    words = b"".join(word.encode(errors="surrogateescape") + b"\0" for word in command)
    return (
        _message(_IDENTIFY_TERM, b"dumb\0")
        + _message(_IDENTIFY_TTYNAME, f"posthouse-{os.getpid()}-{next(_numbers)}".encode() + b"\0")
        + _message(_IDENTIFY_CWD, b"/\0")
        + _message(_IDENTIFY_CLIENTPID, struct.pack("=i", os.getpid()))
        + _message(_IDENTIFY_STDIN, b"", fd_mark),
        _message(_IDENTIFY_STDOUT, b"", fd_mark),
        _message(_IDENTIFY_LONGFLAGS, struct.pack("=Q", _CONTROL | _ONE_BUFFER | _UTF8))
        + _message(_IDENTIFY_DONE, b"")
        + _message(_COMMAND, struct.pack("=i", len(command)) + words),
    )


def message_types(received: bytes) -> tuple[list[int], bytes]:
    """The types of the messages in *received*, and the bytes of one that is not complete."""
    kinds: list[int] = []
    while len(received) >= _HEADER.size:
        kind, length, *_ = _HEADER.unpack_from(received)
        length &= _LENGTH_MASK
        if length < _HEADER.size:
            return [*DISMISSALS], b""  # not the protocol
        if len(received) < length:
            break
        kinds.append(kind)
        received = received[length:]
    return kinds, received


def _message(kind: int, content: bytes, fd_mark: int = 0) -> bytes:
    length = _HEADER.size + len(content)
    if length > _MAX_MESSAGE_BYTES:
        raise TmuxRefused("attach-session", "the session's name is too long")
    return _HEADER.pack(kind, length | fd_mark, _PROTOCOL_VERSION, _NO_PID) + content


def _send(control: socket.socket, content: bytes, descriptor: socket.socket | None) -> None:
    ancillary = []
    if descriptor is not None:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor.fileno()]))]
    # Far smaller than the socket's buffer, so it is sent completely.
    control.sendmsg([content], ancillary)


def _connect(control: socket.socket, server: Server) -> None:
    path = socket_path(server)
    try:
        control.connect(str(path))
    except BlockingIOError:
        raise
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
        raise (NoServer(server) if _is_installed() else missing_error()) from error
    except OSError as error:
        reason = f"error connecting to {path} ({error.strerror or error})"
        raise tmux_error(server, "attach-session", reason) from error
    if not str(server.socket or "").startswith("/"):
        _require_own(control, path)


def _require_own(control: socket.socket, path: Path) -> None:
    """Refuse a server of another user, who may have made the folder of named servers first."""
    credentials = control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", credentials)
    if uid not in (os.getuid(), 0):
        raise TmuxRefused("attach-session", f"{path} belongs to another user")


def _is_installed() -> bool:
    import shutil  # only for the message

    return shutil.which("tmux") is not None


def socket_path(server: Server) -> Path:
    """The path of the socket of *server*."""
    name = server.socket or "default"
    if name.startswith("/"):
        return Path(name)
    folder = os.environ.get("TMUX_TMPDIR") or "/tmp"
    return Path(folder, f"tmux-{os.getuid()}", name)

"""Parses the output of a control client into events. No I/O.

Replies stand between `%begin` and `%end` or `%error` lines that repeat the same time and number;
everything else that begins with `%` is a notification.
"""

import re
from dataclasses import dataclass

from posthouse.errors import Unavailable

#: An `%output` line has some kilobytes; a line of a reply is at most a pasted prompt.
MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_REPLY_BYTES = 16 * 1024 * 1024

_ESCAPE = re.compile(rb"\\([0-7]{3})")
#: The first bytes for a client with one buffer for both directions (`control_socket`).
_GREETING = b"\x1bP1000p"
#: Set in the flags of a reply to a command that came through the pipe.
_OURS = b"1"


class ControlProtocolError(Unavailable):
    """The data is not tmux's control protocol, or exceeds the size limits."""

    code = "tmux_garbled"


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to one command. `ours` is false for commands that tmux ran by itself (the attach)."""

    text: str
    failed: bool
    ours: bool


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes that a pane's program wrote. Empty: the pane changed in another way; capture it again."""

    pane_id: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Paused:
    """tmux holds back a pane's output until a `continue` command."""

    pane_id: str


@dataclass(frozen=True, slots=True)
class SessionsChanged:
    """A session of the server was made or has ended."""


Event = Reply | Output | Paused | SessionsChanged


class Parser:
    """Splits a control client's stream into events; buffers a bounded rest."""

    def __init__(self) -> None:
        self._rest = b""
        self._reply_header: list[bytes] | None = None
        self._lines: list[bytes] = []
        self._reply_bytes = 0

    def feed(self, data: bytes) -> list[Event]:
        """The events that *data* completes.

        Raises:
            ControlProtocolError: A line or a reply exceeds its limit.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE_BYTES:
            raise ControlProtocolError("tmux sent a line without end")
        events = (self._line(line) for line in lines)
        return [event for event in events if event is not None]

    def _line(self, line: bytes) -> Event | None:
        word, *fields = line.removeprefix(_GREETING).split(b" ", 3)
        if self._reply_header is not None:
            return self._reply_line(line, word, fields)
        if word == b"%begin":
            self._reply_header, self._lines, self._reply_bytes = fields, [], 0
            return None
        return _notification(word, line)

    def _reply_line(self, line: bytes, word: bytes, fields: list[bytes]) -> Reply | None:
        # A screen can contain `%end`; only matching time and number end this reply.
        if word in (b"%end", b"%error") and fields == self._reply_header:
            self._reply_header = None
            text = b"\n".join(self._lines).decode(errors="surrogateescape")
            return Reply(text, failed=word == b"%error", ours=fields[-1] == _OURS)
        self._reply_bytes += len(line) + 1
        if self._reply_bytes > MAX_REPLY_BYTES:
            raise ControlProtocolError("tmux sent a reply without end")
        self._lines.append(line)
        return None


def _notification(word: bytes, line: bytes) -> Event | None:
    if word == b"%output":
        _, pane_id, content = line.split(b" ", 2)
        return Output(pane_id.decode(), unescape(content))
    if word == b"%extended-output":
        head, _, content = line.partition(b" : ")
        return Output(head.split(b" ")[1].decode(), unescape(content))
    if word == b"%pane-mode-changed":
        return Output(line.split(b" ")[1].decode(), b"")
    if word == b"%pause":
        return Paused(line.split(b" ")[1].decode())
    if word == b"%sessions-changed":
        return SessionsChanged()
    return None


def unescape(content: bytes) -> bytes:
    """Decode the `\\ooo` escapes of `%output`."""
    return _ESCAPE.sub(lambda match: bytes((int(match[1], 8) & 0xFF,)), content)

"""One request and its answer, as an application sees them."""

import asyncio
import re
from functools import cache
from http import HTTPStatus
from typing import Any, Protocol

from starlette.types import ASGIApp, Message, Scope

from posthouse.web import error_responses
from posthouse.web.access import Refusal
from posthouse.web.lingering_close import PartingTransport
from posthouse.web.request_parser import Header

#: What would let an answer say more than it is meant to.
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_CLOSE = b"connection: close"
_LAST_CHUNK = b"0\r\n\r\n"
_STOPPING = Refusal(status=503, detail="The server is stopping")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Line(Protocol):
    """The connection under an exchange."""

    transport: PartingTransport

    @property
    def headers_of_all(self) -> list[Header]:
        """What every answer carries."""

    def go_on(self) -> None:
        """Read on, if that was stopped."""

    async def drain(self) -> None:
        """Return when the peer has taken enough of what was written."""

    def answered(self) -> None:
        """The answer is complete."""

    def failed(self, why: str, error: BaseException | None = None) -> None:
        """The application is at fault."""


class Exchange:
    """What came, as the connection tells, and how far the answer is, as an application gives it."""

    def __init__(self, scope: Scope, line: Line, *, is_last: bool, owes_continue: bool) -> None:
        self.scope = scope
        self._line = line
        #: The connection ends with this answer.
        self.is_last = is_last
        self._owes_continue = owes_continue
        #: All of the request is here.
        self.is_whole = False
        #: The answer has begun, or is complete.
        self.has_begun = False
        self.is_over = False
        #: The peer is gone, or will be told by others.
        self.is_cut = False
        self._body = bytearray()
        self._news = asyncio.Event()
        #: It was answered for the application, which goes on unheard.
        self._is_given_up = False
        #: None before the head says it.
        self._is_chunked: bool | None = None
        self._owed_bytes = 0

    @property
    def has_length(self) -> bool:
        """Whether the answer's head has said how long it is."""
        return self._is_chunked is False

    # What the connection tells

    def take(self, part: bytes) -> int:
        """More of the body came; how much of it nobody has asked for yet."""
        self._body += part
        self._news.set()
        return len(self._body)

    def end(self) -> None:
        """All of the request is here."""
        self.is_whole = True
        self._news.set()

    def cut(self) -> None:
        """Nobody will hear the rest of the answer."""
        self.is_cut = not self.is_over
        self._news.set()

    def give_up(self, refusal: Refusal) -> None:
        """Answer with *refusal* if nothing was answered; the application goes on with its work."""
        if self.has_begun or self.is_cut:
            return
        answer = refusal.response()
        self.is_last = self.has_begun = self._is_given_up = True
        self._send_head(refusal.status, answer.raw_headers)
        self._send_body(bytes(answer.body), is_end=True)

    async def run(self, app: ASGIApp) -> None:
        """Let *app* answer. What it leaves undone is made good, and logged."""
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            await self._make_good(_STOPPING)
            raise
        except Exception as error:  # noqa: BLE001 - the server must outlive one bad answer
            self._line.failed("the application failed", error)
            await self._make_good(error_responses.crashed())
        else:
            if not self.is_over and not self.is_cut:
                self._line.failed("the application left its answer unfinished")
                await self._make_good(error_responses.crashed())

    async def _make_good(self, answer: ASGIApp) -> None:
        """Give *answer* if none has begun; a broken one ends with its connection."""
        if not self.has_begun:
            self.is_last = True
            await answer(self.scope, self.receive, self.send)
        elif not self.is_over:
            self._line.transport.close()

    # What the application calls

    async def receive(self) -> Message:
        if self._owes_continue:
            self._owes_continue = False
            self._line.transport.write(_CONTINUE)
        if not self.is_cut and not self.is_over:
            self._line.go_on()
            await self._news.wait()
            self._news.clear()
        if self.is_cut or self.is_over:
            return {"type": "http.disconnect"}
        body, self._body = bytes(self._body), bytearray()
        return {"type": "http.request", "body": body, "more_body": not self.is_whole}

    async def send(self, message: Message) -> None:
        await self._line.drain()
        if self.is_cut or self._is_given_up:
            return
        if self.is_over:
            raise RuntimeError("the answer is complete already")
        if self.has_begun:
            self._send_body(message.get("body", b""), is_end=not message.get("more_body", False))
        else:
            self.has_begun = True
            self._owes_continue = False
            self._send_head(message["status"], message.get("headers", ()))

    def _send_head(self, status: int, headers: Any) -> None:
        lines = [status_line(status)]
        for name, value in (*self._line.headers_of_all, *headers):
            if _CONTROL.search(name) or _CONTROL.search(value):
                raise RuntimeError("a header must not hold control characters")
            lines.append(name + b": " + value)
            self._note(name.lower(), value)
        if self.is_last and _CLOSE not in lines:
            lines.append(_CLOSE)
        if self._is_chunked is None and self._has_chunks(status):
            self._is_chunked = True
            lines.append(b"transfer-encoding: chunked")
        lines.append(b"\r\n")
        self._line.transport.write(b"\r\n".join(lines))

    def _has_chunks(self, status: int) -> bool:
        """Whether a body of unknown length goes out in chunks; HTTP/1.0 hears its end from the connection."""
        return (
            self.scope["method"] != "HEAD"
            and status not in (204, 304)
            and self.scope["http_version"] != "1.0"
        )

    def _note(self, name: bytes, value: bytes) -> None:
        """What a header of the answer means for the connection."""
        if name == b"content-length":
            self._owed_bytes, self._is_chunked = int(value), False
        elif name == b"connection" and b"close" in value.lower():
            self.is_last = True

    def _send_body(self, body: bytes, *, is_end: bool) -> None:
        if self.scope["method"] != "HEAD":
            self._write_body(body, is_end=is_end)
        if is_end:
            self.is_over = True
            self._news.set()
            if self.is_last:
                self._line.transport.close()
            self._line.answered()

    def _write_body(self, body: bytes, *, is_end: bool) -> None:
        if self._is_chunked:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            self._line.transport.write(chunk + _LAST_CHUNK if is_end else chunk)
            return
        if self._is_chunked is False:
            self._count(len(body), is_end=is_end)
        self._line.transport.write(body)

    def _count(self, size: int, *, is_end: bool) -> None:
        self._owed_bytes -= size
        if self._owed_bytes < 0 or (is_end and self._owed_bytes > 0):
            raise RuntimeError("the body is not as long as its head says")


@cache  # there are few
def status_line(status: int) -> bytes:
    """The first line of an answer, without its end."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""  # one of our own
    return f"HTTP/1.1 {status} {phrase}".encode()

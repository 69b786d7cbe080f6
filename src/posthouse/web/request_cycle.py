"""One request and its response: the ASGI side of a connection."""

import asyncio
import re
from functools import cache
from http import HTTPStatus
from typing import Any, Protocol

from starlette.types import ASGIApp, Message, Scope

from posthouse.web import error_responses
from posthouse.web.access import RefusalResponse
from posthouse.web.lingering_close import LingeringTransport
from posthouse.web.request_parser import Header

#: Control characters, which would allow response splitting.
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_CLOSE = b"connection: close"
_LAST_CHUNK = b"0\r\n\r\n"
_STOPPING = RefusalResponse(status=503, detail="The server is stopping")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class CycleConnection(Protocol):
    """The connection of a request cycle."""

    transport: LingeringTransport

    @property
    def common_headers(self) -> list[Header]:
        """The headers of every response."""

    def resume_reading_body(self) -> None:
        """Resume reading if it was paused."""

    async def drain(self) -> None:
        """Return when the write buffer is below its limit."""

    def on_response_complete(self) -> None:
        """The response is complete."""

    def log_failure(self, why: str, error: BaseException | None = None) -> None:
        """Log a failure of the application."""


class RequestCycle:
    """The state of one request and its response, between the connection and the application."""

    def __init__(
        self, scope: Scope, connection: CycleConnection, *, is_last: bool, owes_continue: bool
    ) -> None:
        self.scope = scope
        self._connection = connection
        #: The connection closes after this response.
        self.is_last = is_last
        self._owes_continue = owes_continue
        #: The request was received completely.
        self.request_complete = False

        self.response_started = False
        self.response_complete = False
        #: The peer has gone, or gets its response elsewhere.
        self.is_aborted = False
        self._body = bytearray()
        self._changed = asyncio.Event()
        #: A timeout response was sent; further output of the application is discarded.
        self._is_timed_out = False
        #: None until the head is sent.
        self._is_chunked: bool | None = None
        self._remaining_bytes = 0

    @property
    def has_length(self) -> bool:
        """Whether the response has a content length."""
        return self._is_chunked is False

    # Called by the connection

    def add_body(self, part: bytes) -> int:
        """Buffer *part* of the body; returns how many bytes the application has not read yet."""
        self._body += part
        self._changed.set()
        return len(self._body)

    def end_body(self) -> None:
        """The request was received completely."""
        self.request_complete = True
        self._changed.set()

    def abort(self) -> None:
        """Discard the rest of the response."""
        self.is_aborted = not self.response_complete
        self._changed.set()

    def time_out(self, refusal: RefusalResponse) -> None:
        """Send *refusal* if no response has started; the application continues."""
        if self.response_started or self.is_aborted:
            return
        response = refusal.response()
        self.is_last = self.response_started = self._is_timed_out = True
        self._send_head(refusal.status, response.raw_headers)
        self._send_body(bytes(response.body), is_end=True)

    async def run(self, app: ASGIApp) -> None:
        """Run *app*. A failed or incomplete response is completed and logged."""
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            await self._repair_response(_STOPPING)
            raise
        except Exception as error:  # noqa: BLE001 - the server must outlive one bad response
            self._connection.log_failure("the application failed", error)
            await self._repair_response(error_responses.internal_error())
        else:
            if not self.response_complete and not self.is_aborted:
                self._connection.log_failure("the application left its response unfinished")
                await self._repair_response(error_responses.internal_error())

    async def _repair_response(self, response: ASGIApp) -> None:
        """Send *response* if no response has started; otherwise close the connection."""
        if not self.response_started:
            self.is_last = True
            await response(self.scope, self.receive, self.send)
        elif not self.response_complete:
            self._connection.transport.close()

    # Called by the application

    async def receive(self) -> Message:
        if self._owes_continue:
            self._owes_continue = False
            self._connection.transport.write(_CONTINUE)
        if not self.is_aborted and not self.response_complete:
            self._connection.resume_reading_body()
            await self._changed.wait()
            self._changed.clear()
        if self.is_aborted or self.response_complete:
            return {"type": "http.disconnect"}
        body, self._body = bytes(self._body), bytearray()
        return {"type": "http.request", "body": body, "more_body": not self.request_complete}

    async def send(self, message: Message) -> None:
        await self._connection.drain()
        if self.is_aborted or self._is_timed_out:
            return
        if self.response_complete:
            raise RuntimeError("the response is complete already")
        if self.response_started:
            self._send_body(message.get("body", b""), is_end=not message.get("more_body", False))
        else:
            self.response_started = True
            self._owes_continue = False
            self._send_head(message["status"], message.get("headers", ()))

    def _send_head(self, status: int, headers: Any) -> None:
        lines = [status_line(status)]
        for name, value in (*self._connection.common_headers, *headers):
            if _CONTROL.search(name) or _CONTROL.search(value):
                raise RuntimeError("a header must not hold control characters")
            lines.append(name + b": " + value)
            self._apply_header(name.lower(), value)
        if self.is_last and _CLOSE not in lines:
            lines.append(_CLOSE)
        if self._is_chunked is None and self._has_chunks(status):
            self._is_chunked = True
            lines.append(b"transfer-encoding: chunked")
        lines.append(b"\r\n")
        self._connection.transport.write(b"\r\n".join(lines))

    def _has_chunks(self, status: int) -> bool:
        """Whether a body of unknown length is sent in chunks; for HTTP/1.0 closing the connection ends it."""
        return (
            self.scope["method"] != "HEAD"
            and status not in (204, 304)
            and self.scope["http_version"] != "1.0"
        )

    def _apply_header(self, name: bytes, value: bytes) -> None:
        """Apply the effect of a response header on the connection."""
        if name == b"content-length":
            self._remaining_bytes, self._is_chunked = int(value), False
        elif name == b"connection" and b"close" in value.lower():
            self.is_last = True

    def _send_body(self, body: bytes, *, is_end: bool) -> None:
        if self.scope["method"] != "HEAD":
            self._write_body(body, is_end=is_end)
        if is_end:
            self.response_complete = True
            self._changed.set()
            if self.is_last:
                self._connection.transport.close()
            self._connection.on_response_complete()

    def _write_body(self, body: bytes, *, is_end: bool) -> None:
        if self._is_chunked:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            self._connection.transport.write(chunk + _LAST_CHUNK if is_end else chunk)
            return
        if self._is_chunked is False:
            self._check_length(len(body), is_end=is_end)
        self._connection.transport.write(body)

    def _check_length(self, size: int, *, is_end: bool) -> None:
        self._remaining_bytes -= size
        if self._remaining_bytes < 0 or (is_end and self._remaining_bytes > 0):
            raise RuntimeError("the length of the body differs from its content-length")


@cache
def status_line(status: int) -> bytes:
    """The status line of a response, without its line end."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""  # a nonstandard status
    return f"HTTP/1.1 {status} {phrase}".encode()

"""An asyncio HTTP connection pool for one server, with keep-alive.

Ignores proxy variables. Response time, response size and concurrent requests are bounded.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import httptools

#: Limit of a whole response; above our largest one.
MAX_RESPONSE_BYTES = 16 << 20
_MAX_HEAD_BYTES = 64 << 10
_FIRST_FINAL_STATUS = 200
#: Above the limit of long polls for receipts, so that these never block other requests.
_MAX_CONCURRENT = 256
_MAX_IDLE = 8
#: Our servers close idle connections after 5 s; a connection is not reused close to that.
_MAX_IDLE_SECONDS = 2.0


class BadResponse(Exception):
    """The response is not HTTP or exceeds the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """A complete response. Header names are in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for given, value in self.headers if given == name), None)


class ConnectionPool:
    """Connections to one server. The creator closes it."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._idle: list[_Connection] = []
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT)

    async def request(
        self, method: str, target: str, *, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> HttpResponse:
        """Send a request and return the response.

        Raises:
            TimeoutError: It took longer than *seconds*.
            OSError: The connection was refused or broke; the request may have been executed.
            BadResponse: The response is invalid; the request may have been executed.
        """
        message = _encode(method, target, {"host": "{}:{}".format(*self._address), **headers}, body)
        async with asyncio.timeout(seconds), self._slots:
            idle = self._reuse_idle()
            if idle is None:
                return await self._exchange(await self._connect(), message)
            try:
                return await self._exchange(idle, message)
            except ConnectionError:
                if method != "GET" or idle.has_received:
                    raise
            # The server may have closed the idle connection at that moment; a GET is safe to repeat.
            return await self._exchange(await self._connect(), message)

    def close(self) -> None:
        """Close idle connections; requests in progress complete."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def _exchange(self, connection: "_Connection", message: bytes) -> HttpResponse:
        try:
            answer = await connection.ask(message)
        except BaseException:
            connection.close()  # otherwise the next request would read its response
            raise
        if connection.is_reusable and len(self._idle) < _MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.close()
        return answer

    def _reuse_idle(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if connection.is_fresh:
                return connection
            connection.close()
        return None

    async def _connect(self) -> "_Connection":
        _, connection = await asyncio.get_running_loop().create_connection(_Connection, *self._address)
        return connection


class _Connection(asyncio.Protocol):
    """One connection with one request at a time. The parser calls the `on_` methods."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[HttpResponse] | None = None
        self._answered_at = 0.0
        self._begin()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._received_bytes = 0
        self._is_head_complete = False
        #: Whether any part of the response has arrived.
        self.has_received = False
        self.is_reusable = False

    @property
    def is_fresh(self) -> bool:
        """Whether the connection is open and was used recently."""
        open_yet = self._transport is not None and not self._transport.is_closing()
        return open_yet and asyncio.get_running_loop().time() - self._answered_at < _MAX_IDLE_SECONDS

    @property
    def _is_idle(self) -> bool:
        """Whether no request waits for a response."""
        return self._waiting is None or self._waiting.done()

    async def ask(self, message: bytes) -> HttpResponse:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the connection was closed")
        self._begin()
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(message)
        return await self._waiting

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # TCP has this one
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(
            exc if isinstance(exc, OSError) else ConnectionResetError("connection closed before the response")
        )

    def data_received(self, data: bytes) -> None:
        if self._is_idle:
            self.close()  # data without a request
            return
        self.has_received = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._reject(str(error.__context__ or error))
        else:
            self._check_size(len(data))

    def _check_size(self, size: int) -> None:
        """Count all bytes: the parser buffers unfinished heads and skips chunk extensions."""
        self._received_bytes += size
        limit = MAX_RESPONSE_BYTES if self._is_head_complete else _MAX_HEAD_BYTES
        if self._received_bytes > limit and not self._is_idle:
            self._reject(f"response exceeds {limit} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        self._is_head_complete = True

    def on_body(self, part: bytes) -> None:
        self._body.append(part)

    def on_message_complete(self) -> None:
        if self._is_idle:
            return
        if self._parser.get_status_code() < _FIRST_FINAL_STATUS:
            raise BadResponse("unexpected protocol upgrade")
        self._answered_at = asyncio.get_running_loop().time()
        self.is_reusable = self._parser.should_keep_alive()
        assert self._waiting is not None
        self._waiting.set_result(
            HttpResponse(
                status=self._parser.get_status_code(),
                headers=tuple(self._headers),
                body=b"".join(self._body),
            )
        )

    def _reject(self, reason: str) -> None:
        self._fail(BadResponse(reason))
        self.close()

    def _fail(self, error: Exception) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)


def _encode(method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    sent = {**headers, **({} if body is None else {"content-length": str(len(body))})}
    if any(character in value for value in (method, target, *sent.values()) for character in "\r\n\0"):
        raise ValueError("line break in a request head")
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + (body or b"")

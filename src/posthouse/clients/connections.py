"""Asks one HTTP server all day from an event loop, over connections that are kept open.

Goes straight to its address: proxy variables do not count. Everything is bounded: how long an answer may
take, how large it may be, how many are asked at once.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import httptools

#: Of a whole answer; larger than the largest of ours.
MAX_ANSWER_BYTES = 16 << 20
_MAX_HEAD_BYTES = 64 << 10
_FIRST_FINAL_STATUS = 200
#: More than may wait for receipts, which take minutes: nobody else has to wait for them.
_MAX_AT_ONCE = 256
_MAX_KEPT = 8
#: Servers of ours hang up after 5 s of silence; by then a connection must not be taken up again.
_KEPT_SECONDS = 2.0


class BadAnswer(Exception):
    """What came back is not HTTP, or without end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server said. Names of headers are in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for given, value in self.headers if given == name), None)


class Connections:
    """The way to one server. Whoever made it closes it."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._kept: list[_Connection] = []
        self._places = asyncio.Semaphore(_MAX_AT_ONCE)

    async def ask(
        self, method: str, target: str, *, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Answer:
        """One question and its answer.

        Raises:
            TimeoutError: It took longer than *seconds*.
            OSError: Nobody listens, or the connection broke off; what was asked may have been done.
            BadAnswer: Something came that is no answer; what was asked may have been done.
        """
        message = _encode(method, target, {"host": "{}:{}".format(*self._address), **headers}, body)
        async with asyncio.timeout(seconds), self._places:
            kept = self._take()
            if kept is None:
                return await self._exchange(await self._connect(), message)
            try:
                return await self._exchange(kept, message)
            except ConnectionError:
                if method != "GET" or kept.has_heard:
                    raise
            # It may have been closed for its silence just as it was taken up; looking twice does no harm.
            return await self._exchange(await self._connect(), message)

    def close(self) -> None:
        """Close what is kept open; answers that are under way still come."""
        for connection in self._kept:
            connection.close()
        self._kept.clear()

    async def _exchange(self, connection: "_Connection", message: bytes) -> Answer:
        try:
            answer = await connection.ask(message)
        except BaseException:
            connection.close()  # its answer would be taken for the next one's
            raise
        if connection.is_reusable and len(self._kept) < _MAX_KEPT:
            self._kept.append(connection)
        else:
            connection.close()
        return answer

    def _take(self) -> "_Connection | None":
        while self._kept:
            connection = self._kept.pop()
            if connection.is_fresh:
                return connection
            connection.close()
        return None

    async def _connect(self) -> "_Connection":
        _, made = await asyncio.get_running_loop().create_connection(_Connection, *self._address)
        return made


class _Connection(asyncio.Protocol):
    """One connection; one question at a time. The methods with `on_` are the parser's."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Answer] | None = None
        self._answered_at = 0.0
        self._begin()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._heard_bytes = 0
        self._is_head_complete = False
        #: Whether anything of the answer has come.
        self.has_heard = False
        self.is_reusable = False

    @property
    def is_fresh(self) -> bool:
        """Whether the server surely still listens."""
        open_yet = self._transport is not None and not self._transport.is_closing()
        return open_yet and asyncio.get_running_loop().time() - self._answered_at < _KEPT_SECONDS

    @property
    def _is_answered(self) -> bool:
        """Whether nobody waits for what comes."""
        return self._waiting is None or self._waiting.done()

    async def ask(self, message: bytes) -> Answer:
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
        self._fail(exc if isinstance(exc, OSError) else ConnectionResetError("it hung up before it answered"))

    def data_received(self, data: bytes) -> None:
        if self._is_answered:
            self.close()  # nobody asked
            return
        self.has_heard = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._refuse(str(error.__context__ or error))
        else:
            self._bound(len(data))

    def _bound(self, size: int) -> None:
        """Count everything: the parser keeps unfinished heads and skips chunk extensions in silence."""
        self._heard_bytes += size
        limit = MAX_ANSWER_BYTES if self._is_head_complete else _MAX_HEAD_BYTES
        if self._heard_bytes > limit and not self._is_answered:
            self._refuse(f"its answer is larger than {limit} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        self._is_head_complete = True

    def on_body(self, part: bytes) -> None:
        self._body.append(part)

    def on_message_complete(self) -> None:
        if self._is_answered:
            return
        if self._parser.get_status_code() < _FIRST_FINAL_STATUS:
            raise BadAnswer("it wants to speak another protocol")
        self._answered_at = asyncio.get_running_loop().time()
        self.is_reusable = self._parser.should_keep_alive()
        assert self._waiting is not None
        self._waiting.set_result(
            Answer(
                status=self._parser.get_status_code(),
                headers=tuple(self._headers),
                body=b"".join(self._body),
            )
        )

    def _refuse(self, reason: str) -> None:
        self._fail(BadAnswer(reason))
        self.close()

    def _fail(self, error: Exception) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)


def _encode(method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    told = {**headers, **({} if body is None else {"content-length": str(len(body))})}
    if any(character in value for value in (method, target, *told.values()) for character in "\r\n\0"):
        raise ValueError("a line break in the head of a request")
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + (body or b"")

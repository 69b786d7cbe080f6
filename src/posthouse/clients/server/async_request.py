"""One question over a connection of its own, awaited."""

import asyncio
import http.client
import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from posthouse.clients.events import MAX_LINE_BYTES
from posthouse.clients.server.endpoint import MAX_ANSWER_BYTES, Address, Question, Raw
from posthouse.clients.server.errors import OtherShape, ServerUnreachable

_MAX_HEAD_BYTES = 64 << 10
_JSON = {"Content-Type": "application/json"}


async def exchanged(
    address: Address, question: Question[Any], headers: Mapping[str, str], *, seconds: float
) -> Raw:
    """The answer, within *seconds*.

    Raises:
        ServerUnreachable: Nobody answered in time.
        OtherShape: The answer is too long, or is none of HTTP.
    """
    try:
        async with asyncio.timeout(seconds), asking(address, question, headers) as reader:
            content = bytearray()
            while piece := await reader.read(1 << 16):
                content += piece
                if len(content) > MAX_ANSWER_BYTES + _MAX_HEAD_BYTES:
                    raise OtherShape(f"an answer of more than {MAX_ANSWER_BYTES} bytes is no server's")
    except TimeoutError as error:
        raise unreachable(address, "it took too long") from error
    return _read(bytes(content))


@asynccontextmanager
async def asking(
    address: Address, question: Question[Any], headers: Mapping[str, str]
) -> AsyncIterator[asyncio.StreamReader]:
    """What comes back on the connection that *question* was sent over; it is closed afterwards.

    Raises:
        ServerUnreachable: Nobody is there, or the connection breaks.
    """
    try:
        is_tls = address.scheme == "https"
        reader, writer = await asyncio.open_connection(
            address.host, address.port, limit=MAX_LINE_BYTES, ssl=is_tls or None
        )
    except OSError as error:
        raise unreachable(address, error) from error
    try:
        writer.write(_written(address, question, headers))
        await writer.drain()
        yield reader
    except OSError as error:
        raise unreachable(address, error) from error
    finally:
        writer.transport.abort()


def unreachable(address: Address, reason: object) -> ServerUnreachable:
    return ServerUnreachable(
        f"the server at {address.url} does not answer: {reason or type(reason).__name__}"
    )


class Head(NamedTuple):
    """How an answer begins."""

    status: int
    is_chunked: bool


async def head_of(reader: asyncio.StreamReader) -> Head:
    """How the answer begins that *reader* holds; its content is what is left.

    Raises:
        OtherShape: It does not begin with an answer.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise OtherShape("the server answered with something that is not HTTP") from error
    response = _begun(head)
    return Head(response.status, "chunked" in response.headers.get("Transfer-Encoding", ""))


async def lines(reader: asyncio.StreamReader, *, is_chunked: bool) -> AsyncIterator[bytes]:
    """The lines of an answer's content, as they come.

    Raises:
        OSError: The connection broke.
        ValueError: A line has no end, or is no part of an answer.
    """
    if not is_chunked:
        while line := await reader.readline():
            yield line
        return
    rest = b""
    while size := int((await reader.readline()).partition(b";")[0] or b"0", 16):
        content = rest + (await reader.readexactly(size + 2))[:-2]
        *whole, rest = content.splitlines(keepends=True)
        if rest.endswith(b"\n"):
            whole, rest = [*whole, rest], b""
        for line in whole:
            yield line
        if len(rest) >= MAX_LINE_BYTES:
            raise ValueError(f"a line of more than {MAX_LINE_BYTES} bytes")
    if rest:
        yield rest


def _written(address: Address, question: Question[Any], headers: Mapping[str, str]) -> bytes:
    content = question.content
    shown = f"[{address.host}]" if ":" in address.host else address.host
    sent = {"Host": f"{shown}:{address.port}", "Connection": "close", **headers, **question.headers}
    if content is not None:
        sent |= {**_JSON, "Content-Length": str(len(content))}
    elif question.method != "GET":
        sent["Content-Length"] = "0"
    lines = [f"{question.method} {address.prefix}{question.target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in sent.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (content or b"")


class _Kept(io.BytesIO):
    """An answer that is all there, as `http.client` reads one from a socket."""

    def makefile(self, *_: object) -> io.BytesIO:
        return self


def _begun(content: bytes) -> http.client.HTTPResponse:
    response = http.client.HTTPResponse(_Kept(content))  # type: ignore[arg-type]  # all it asks for is makefile
    try:
        response.begin()
    except http.client.HTTPException as error:
        raise OtherShape("the server answered with something that is not HTTP") from error
    return response


def _read(content: bytes) -> Raw:
    response = _begun(content)
    try:
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Raw(response.status, response.read(), headers)
    except http.client.HTTPException as error:
        raise OtherShape("the server's answer breaks off") from error

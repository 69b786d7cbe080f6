"""One asyncio request over its own connection."""

import asyncio
import http.client
import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from posthouse.clients.events import MAX_LINE_BYTES
from posthouse.clients.server.endpoint import MAX_RESPONSE_BYTES, Address, EndpointRequest, RawResponse
from posthouse.clients.server.errors import ServerUnreachable, UnexpectedResponse

_MAX_HEAD_BYTES = 64 << 10
_JSON = {"Content-Type": "application/json"}


async def fetch(
    address: Address, request: EndpointRequest[Any], headers: Mapping[str, str], *, seconds: float
) -> RawResponse:
    """Send the request and return the response, within *seconds*.

    Raises:
        ServerUnreachable: No response in time.
        UnexpectedResponse: The response is too long or not HTTP.
    """
    try:
        async with asyncio.timeout(seconds), open_request(address, request, headers) as reader:
            content = bytearray()
            while piece := await reader.read(1 << 16):
                content += piece
                if len(content) > MAX_RESPONSE_BYTES + _MAX_HEAD_BYTES:
                    raise UnexpectedResponse(f"response exceeds {MAX_RESPONSE_BYTES} bytes")
    except TimeoutError as error:
        raise unreachable(address, "timeout") from error
    return _parse(bytes(content))


@asynccontextmanager
async def open_request(
    address: Address, request: EndpointRequest[Any], headers: Mapping[str, str]
) -> AsyncIterator[asyncio.StreamReader]:
    """Send the request and yield the reader of its response; the connection is closed afterwards.

    Raises:
        ServerUnreachable: The connection is refused or breaks.
    """
    try:
        is_tls = address.scheme == "https"
        reader, writer = await asyncio.open_connection(
            address.host, address.port, limit=MAX_LINE_BYTES, ssl=is_tls or None
        )
    except OSError as error:
        raise unreachable(address, error) from error
    try:
        writer.write(_encode(address, request, headers))
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
    """The head of a response."""

    status: int
    is_chunked: bool


async def read_head(reader: asyncio.StreamReader) -> Head:
    """Read the head of a response; the body is left in *reader*.

    Raises:
        UnexpectedResponse: The response is not HTTP.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise UnexpectedResponse("the response is not HTTP") from error
    response = _parse_head(head)
    return Head(response.status, "chunked" in response.headers.get("Transfer-Encoding", ""))


async def lines(reader: asyncio.StreamReader, *, is_chunked: bool) -> AsyncIterator[bytes]:
    """The lines of a response body as they arrive.

    Raises:
        OSError: The connection broke.
        ValueError: A line is too long, or a chunk is invalid.
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
            raise ValueError(f"line exceeds {MAX_LINE_BYTES} bytes")
    if rest:
        yield rest


def _encode(address: Address, request: EndpointRequest[Any], headers: Mapping[str, str]) -> bytes:
    content = request.content
    shown = f"[{address.host}]" if ":" in address.host else address.host
    sent = {"Host": f"{shown}:{address.port}", "Connection": "close", **headers, **request.headers}
    if content is not None:
        sent |= {**_JSON, "Content-Length": str(len(content))}
    elif request.method != "GET":
        sent["Content-Length"] = "0"
    lines = [f"{request.method} {address.prefix}{request.target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in sent.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (content or b"")


class _BufferedSocket(io.BytesIO):
    """A complete response in memory, with the socket interface that `http.client` reads from."""

    def makefile(self, *_: object) -> io.BytesIO:
        return self


def _parse_head(content: bytes) -> http.client.HTTPResponse:
    response = http.client.HTTPResponse(_BufferedSocket(content))  # type: ignore[arg-type]  # it only uses makefile
    try:
        response.begin()
    except http.client.HTTPException as error:
        raise UnexpectedResponse("the response is not HTTP") from error
    return response


def _parse(content: bytes) -> RawResponse:
    response = _parse_head(content)
    try:
        headers = {name.lower(): value for name, value in response.headers.items()}
        return RawResponse(response.status, response.read(), headers)
    except http.client.HTTPException as error:
        raise UnexpectedResponse("the response is incomplete") from error

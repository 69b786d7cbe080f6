"""An asyncio client for the server-sent events of a gateway on this machine."""

import asyncio
import urllib.parse
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from posthouse.clients.events import MAX_LINE_BYTES, EventParser, ReceivedEvent, StreamBroken

#: Streams send a heartbeat every 15 s.
_SILENCE_SECONDS = 45.0
_HEAD_LINES = 100


class GatewayEvents:
    """The events of an open response."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._frames = EventParser()
        #: Received lines that were not parsed yet, and the start of the next one.
        self._lines: deque[str] = deque()
        self._rest = b""
        self._is_chunked = False

    @property
    def last_id(self) -> str | None:
        """The newest received id, from which another stream can resume."""
        return self._frames.last_id

    async def start_position(self) -> str:
        """The id at which the stream starts; it contains all events after it.

        Raises:
            StreamBroken: The stream has no id.
        """
        async for _ in self:
            break
        if self.last_id is None:
            raise StreamBroken("the stream has no start position")
        return self.last_id

    async def __aiter__(self) -> AsyncIterator[ReceivedEvent | None]:
        """Every event, and None for each heartbeat. Ends when the gateway ends the stream.

        Raises:
            StreamBroken: The stream is invalid or the connection broke.
        """
        while (line := await self._next_line()) is not None:
            event = self._frames.feed(line)
            if event is not None or not line:
                yield event

    async def read_head(self) -> None:
        """Read the response up to its first event.

        Raises:
            StreamBroken: It is not an event stream.
        """
        status = await self._read_line()
        for _ in range(_HEAD_LINES):
            field = (await self._read_line()).lower().strip()
            if not field:
                break
            self._is_chunked |= field.replace(b" ", b"") == b"transfer-encoding:chunked"
        if status.split(b" ")[1:2] != [b"200"]:
            raise StreamBroken(f"the gateway refused its events: {status.decode(errors='replace').strip()}")

    async def _next_line(self) -> str | None:
        """The next line without its line break; None at the end of the stream."""
        while not self._lines:
            if not (part := await self._read_part()):
                return None
            *whole, self._rest = (self._rest + part).split(b"\n")
            if len(self._rest) > MAX_LINE_BYTES:
                raise StreamBroken(f"line exceeds {MAX_LINE_BYTES} bytes")
            self._lines.extend(line.decode(errors="replace").rstrip("\r") for line in whole)
        return self._lines.popleft()

    async def _read_part(self) -> bytes:
        """The next part of the body; empty at its end."""
        if not self._is_chunked:
            return await self._read_line()
        size = await self._read_line()
        try:
            length = int(size.strip() or b"0", 16)
        except ValueError as error:
            raise StreamBroken("invalid chunk length") from error
        if length > MAX_LINE_BYTES:
            raise StreamBroken(f"chunk of {length} bytes exceeds {MAX_LINE_BYTES} bytes")
        async with _bounded():
            return (await self._reader.readexactly(length + 2))[:-2] if length else b""

    async def _read_line(self) -> bytes:
        async with _bounded():
            return await self._reader.readline()


@asynccontextmanager
async def open_events(port: int, *, since: str | None, follow: bool = True) -> AsyncIterator[GatewayEvents]:
    """The events of the gateway on *port* after *since*; None: only new events.

    Raises:
        StreamBroken: The gateway is unreachable or refuses, or the stream breaks.
    """
    query = {"follow": "true" if follow else "false"} | ({} if since is None else {"since": since})
    target = f"/v1/events?{urllib.parse.urlencode(query)}"
    async with _bounded():
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=MAX_LINE_BYTES)
    try:
        writer.write(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        events = GatewayEvents(reader)
        await events.read_head()
        yield events
    finally:
        writer.close()


@asynccontextmanager
async def _bounded() -> AsyncIterator[None]:
    """Bound the time of the body, and translate its errors to `StreamBroken`."""
    try:
        async with asyncio.timeout(_SILENCE_SECONDS):
            yield
    except TimeoutError as error:
        raise StreamBroken(f"no data for {_SILENCE_SECONDS:g} s") from error
    except (OSError, EOFError, ValueError) as error:
        raise StreamBroken(f"event stream broken: {error or type(error).__name__}") from error

"""Reads the server-sent events of a gateway on this machine, in a loop and without a thread."""

import asyncio
import urllib.parse
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from posthouse.clients.events import MAX_LINE_BYTES, Frames, Heard, StreamBroken

#: A stream gives a sign of life every 15 s.
_SILENCE_SECONDS = 45.0
_HEAD_LINES = 100


class Following:
    """The events of an open answer, as they come."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._frames = Frames()
        #: Lines that came and were not looked at, and the beginning of the next one.
        self._waiting: deque[str] = deque()
        self._rest = b""
        self._is_chunked = False

    @property
    def last_id(self) -> str | None:
        """The newest id that was heard of: from there another can go on."""
        return self._frames.last_id

    async def place(self) -> str:
        """The id that the stream begins with: everything after it is told.

        Raises:
            StreamBroken: There is none.
        """
        async for _ in self:
            break
        if self.last_id is None:
            raise StreamBroken("the stream does not say where it begins")
        return self.last_id

    async def __aiter__(self) -> AsyncIterator[Heard | None]:
        """Every event, and None for each sign of life. Ends when the gateway ends it.

        Raises:
            StreamBroken: It can't be read on.
        """
        while (line := await self._next_line()) is not None:
            heard = self._frames.take(line)
            if heard is not None or not line:
                yield heard

    async def read_head(self) -> None:
        """Read the answer up to its first event.

        Raises:
            StreamBroken: It is no stream of events.
        """
        status = await self._line()
        for _ in range(_HEAD_LINES):
            field = (await self._line()).lower().strip()
            if not field:
                break
            self._is_chunked |= field.replace(b" ", b"") == b"transfer-encoding:chunked"
        if status.split(b" ")[1:2] != [b"200"]:
            raise StreamBroken(f"the gateway refused its events: {status.decode(errors='replace').strip()}")

    async def _next_line(self) -> str | None:
        """The next line without its end; None at the end of all."""
        while not self._waiting:
            if not (part := await self._part()):
                return None
            *whole, self._rest = (self._rest + part).split(b"\n")
            if len(self._rest) > MAX_LINE_BYTES:
                raise StreamBroken(f"a line of more than {MAX_LINE_BYTES} bytes is no event")
            self._waiting.extend(line.decode(errors="replace").rstrip("\r") for line in whole)
        return self._waiting.popleft()

    async def _part(self) -> bytes:
        """Some of the body; nothing at its end."""
        if not self._is_chunked:
            return await self._line()
        size = await self._line()
        try:
            length = int(size.strip() or b"0", 16)
        except ValueError as error:
            raise StreamBroken("the stream's parts have no lengths") from error
        if length > MAX_LINE_BYTES:
            raise StreamBroken(f"a part of {length} bytes is no event")
        async with _patiently():
            return (await self._reader.readexactly(length + 2))[:-2] if length else b""

    async def _line(self) -> bytes:
        async with _patiently():
            return await self._reader.readline()


@asynccontextmanager
async def events_of(port: int, *, since: str | None, follow: bool = True) -> AsyncIterator[Following]:
    """The events of the gateway that listens on *port*, after *since*; None: what happens from now on.

    Raises:
        StreamBroken: It can't be reached, or refuses, or the stream breaks.
    """
    query = {"follow": "true" if follow else "false"} | ({} if since is None else {"since": since})
    target = f"/v1/events?{urllib.parse.urlencode(query)}"
    async with _patiently():
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=MAX_LINE_BYTES)
    try:
        writer.write(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        opened = Following(reader)
        await opened.read_head()
        yield opened
    finally:
        writer.close()


@asynccontextmanager
async def _patiently() -> AsyncIterator[None]:
    """What is done inside takes a bounded time, and ends with a stream or breaks it."""
    try:
        async with asyncio.timeout(_SILENCE_SECONDS):
            yield
    except TimeoutError as error:
        raise StreamBroken(f"nothing came for {_SILENCE_SECONDS:g} s") from error
    except (OSError, EOFError, ValueError) as error:
        raise StreamBroken(f"the stream of events broke: {error or type(error).__name__}") from error

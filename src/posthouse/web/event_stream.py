"""Streams events to one connection as server-sent events."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from posthouse.events.event import Event, Position
from posthouse.events.reader import Reader, StreamItem
from posthouse.events.readers import EventReaders
from posthouse.web.access import HANG_UP

MEDIA_TYPE = "text/event-stream"
#: Between heartbeats, so that both sides notice a dead connection.
HEARTBEAT_SECONDS = 15.0
#: How long a reader may take to read what was sent before it is dropped.
WRITE_TIMEOUT_SECONDS = 5.0
#: Reconnection delay of browsers.
_RETRY_MILLISECONDS = 1000


def everything(_: Event) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """Which events one reader gets."""

    #: None: only future events.
    after: Position | None = None
    #: The filter.
    matches: Callable[[Event], bool] = everything
    #: False: only existing events.
    follow: bool = True


class EventStream(Response):
    """Streams events until the client disconnects, does not keep up, or the process stops.

    *on_end* is called once, at the end of the stream.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self, readers: EventReaders, options: StreamOptions, *, on_end: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "connection": "close"})
        del self.headers["content-length"]
        self._readers = readers
        self._options = options
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._serve(scope, receive, send)
        finally:
            self._on_end()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body"})
            return
        reader = self._readers.add_reader(self._options.after)
        try:
            is_too_slow = await self._run(reader, receive, send)
        finally:
            self._readers.remove_reader(reader)
        if is_too_slow:
            self._readers.dropped_count += 1
            hang_up: Callable[[], None] = scope["extensions"][HANG_UP]["call"]
            hang_up()
            await _wait_disconnect(receive)
        else:
            await send({"type": "http.response.body"})

    async def _run(self, reader: Reader, receive: Receive, send: Send) -> bool:
        """Stream until there is a reason to stop. True: the reader is too slow."""
        writing = asyncio.create_task(self._write_events(reader, send))
        disconnecting = asyncio.create_task(_wait_disconnect(receive))
        stopping = asyncio.create_task(self._readers.stopped.wait())
        tasks = (writing, disconnecting, stopping)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        match outcomes[0]:
            case TimeoutError():
                return True
            case Exception() as error:
                raise error
        return reader.has_fallen_behind

    async def _write_events(self, reader: Reader, send: Send) -> None:
        await _send(send, self._preamble(reader))
        while not reader.has_fallen_behind:
            if self._options.follow:
                items = await reader.next(within_seconds=HEARTBEAT_SECONDS)
            elif not (items := await reader.poll()):
                return
            await _send(send, encode_items(items, self._options.matches) or b": \n\n")

    def _preamble(self, reader: Reader) -> bytes:
        """The start position, so that a client that is dropped before the first event misses none."""
        start = (
            Position(number=reader.last_number, check=None)
            if self._options.after is None
            else self._options.after
        )
        return f"retry: {_RETRY_MILLISECONDS}\nid: {start}\n\n".encode()


def encode_items(items: Sequence[StreamItem], matches: Callable[[Event], bool]) -> bytes:
    """*items* as SSE blocks. Events that do not match only advance the client's last event id."""
    blocks: list[str] = []
    passed: Position | None = None
    for one in items:
        if not isinstance(one, Event):
            gap = {"kind": "gap", "missing": one.missing, "reason": one.reason}
            blocks.append(f"id: {one.position}\ndata: {json.dumps(gap)}\n\n")
        elif matches(one):
            passed = None
            blocks.append(f"id: {one.position}\ndata: {one.line.decode()}\n\n")
        else:
            passed = one.position
    if passed is not None:
        blocks.append(f"id: {passed}\n\n")
    return "".join(blocks).encode()


async def _send(send: Send, content: bytes) -> None:
    """Send *content*.

    Raises:
        TimeoutError: The client did not read what was sent before.
    """
    async with asyncio.timeout(WRITE_TIMEOUT_SECONDS):
        await send({"type": "http.response.body", "body": content, "more_body": True})


async def _wait_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

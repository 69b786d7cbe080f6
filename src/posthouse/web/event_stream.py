"""Events as server-sent events: one connection that tells them as they happen."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from posthouse.events.event import Event, Position
from posthouse.events.reader import Reader, Told
from posthouse.events.readers import Audience
from posthouse.web.access import HANG_UP

MEDIA_TYPE = "text/event-stream"
#: Between signs of life, so that both sides notice when the other is gone.
HEARTBEAT_SECONDS = 15.0
#: How long a reader may take to read what was sent before it is cut.
PATIENCE_SECONDS = 5.0
#: What browsers wait before they come back.
_RETRY_MILLISECONDS = 1000


def everything(_: Event) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What one reader wants to hear."""

    #: None: only what happens from now on.
    after: Position | None = None
    #: Which events it wants.
    wants: Callable[[Event], bool] = everything
    #: False: only what there is already.
    follow: bool = True


class EventStream(Response):
    """Tells *audience*'s events until the reader goes, does not keep up, or the process ends.

    *on_end* is called once, when nobody is told any more.
    """

    media_type = MEDIA_TYPE

    def __init__(self, audience: Audience, wish: Wish, *, on_end: Callable[[], None] = lambda: None) -> None:
        super().__init__(headers={"cache-control": "no-store", "connection": "close"})
        del self.headers["content-length"]
        self._audience = audience
        self._wish = wish
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
        reader = self._audience.join(self._wish.after)
        try:
            is_cut = await self._attend(reader, receive, send)
        finally:
            self._audience.leave(reader)
        if is_cut:
            self._audience.cut += 1
            hang_up: Callable[[], None] = scope["extensions"][HANG_UP]["call"]
            hang_up()
            await _departure(receive)
        else:
            await send({"type": "http.response.body"})

    async def _attend(self, reader: Reader, receive: Receive, send: Send) -> bool:
        """Tell until there is a reason to stop. True: the reader is too slow."""
        telling = asyncio.create_task(self._tell(reader, send))
        leaving = asyncio.create_task(_departure(receive))
        ending = asyncio.create_task(self._audience.is_over.wait())
        tasks = (telling, leaving, ending)
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

    async def _tell(self, reader: Reader, send: Send) -> None:
        await _send(send, self._greeting(reader))
        while not reader.has_fallen_behind:
            if self._wish.follow:
                told = await reader.next(within_seconds=HEARTBEAT_SECONDS)
            elif not (told := await reader.look()):
                return
            await _send(send, encoded(told, self._wish.wants) or b": \n\n")

    def _greeting(self, reader: Reader) -> bytes:
        """Where it begins, so that one who is cut before the first event misses none."""
        place = Position(number=reader.at, check=None) if self._wish.after is None else self._wish.after
        return f"retry: {_RETRY_MILLISECONDS}\nid: {place}\n\n".encode()


def encoded(told: Sequence[Told], wants: Callable[[Event], bool]) -> bytes:
    """*told* as blocks. What nobody asked for moves the reader's place on, and is not shown."""
    blocks: list[str] = []
    passed: Position | None = None
    for one in told:
        if not isinstance(one, Event):
            gap = {"kind": "gap", "missing": one.missing, "reason": one.reason}
            blocks.append(f"id: {one.position}\ndata: {json.dumps(gap)}\n\n")
        elif wants(one):
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
        TimeoutError: The reader did not read what was sent before.
    """
    async with asyncio.timeout(PATIENCE_SECONDS):
        await send({"type": "http.response.body", "body": content, "more_body": True})


async def _departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

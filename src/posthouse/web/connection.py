"""One HTTP connection: whose it is, the order of its answers, and how long it may take.

Bounded are how many connections there are, how many requests may wait behind one another, how long the head
of a request may take, and how long a peer may go on without asking or reading.
"""

import asyncio
import socket
import struct
from collections import deque
from urllib.parse import unquote

from starlette.types import ASGIApp, Scope

from posthouse.web import access
from posthouse.web.access import HANG_UP, PROVED, Refusal
from posthouse.web.connections import House
from posthouse.web.lingering_close import PartingTransport
from posthouse.web.request_cycle import Exchange, status_line
from posthouse.web.request_parser import Header, Incoming, Opening, Unreadable

_MAX_CONNECTIONS = 512
#: Of those, for callers beyond loopback that have shown a token.
_MAX_GUESTS = 128
#: Of those, for other users and for callers that have shown no token yet. The oldest is closed for the
#: newest: a caller with a token shows it at once.
_MAX_UNPROVED = 64
#: Requests that may wait behind one that is not yet answered.
_MAX_WAITING = 64
#: Of a body that nobody has asked for yet.
_MAX_UNASKED_BYTES = 64 << 10
_HEAD_SECONDS = 10.0
_STALL_SECONDS = 10.0
#: How long a connection is kept for its next request.
_IDLE_SECONDS = 5.0
#: How long an answer may take to begin.
_ANSWER_SECONDS = 300.0
#: The extension that says that all of the request is here, so that nobody need wait for it.
WHOLE = "posthouse.whole"
#: The extension by which an application says that this answer may take as long as its caller waits.
WAITS = "posthouse.waits"
#: Closing resets.
_NO_LINGER = struct.pack("ii", 1, 0)

_STRANGER = Refusal(
    status=403,
    detail="Only the user that this process belongs to is served",
    headers={"connection": "close"},
)
_CROWDED = Refusal(status=503, detail="Too many connections; close some", headers={"connection": "close"})
_LATE = Refusal(
    status=504,
    detail=f"There was no answer within {_ANSWER_SECONDS:g} s. The request may still be carried out: "
    "look at what became of it before it is repeated",
)
_SLOW = Refusal(status=408, detail=f"The head of the request did not arrive within {_HEAD_SECONDS:g} s")


class Connection(asyncio.Protocol):
    """An HTTP connection whose peer was asked for once, when it was made."""

    transport: PartingTransport

    def __init__(self, house: House, app: ASGIApp) -> None:
        self._house = house
        self._app: ASGIApp = _STRANGER  # until the kernel has said otherwise
        self._served = app
        self._loop = asyncio.get_running_loop()
        self._incoming = Incoming(self)
        #: Nothing that comes is heard any more.
        self._is_deaf = False
        self._is_read_paused = False
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._late: asyncio.TimerHandle | None = None
        #: None while the peer reads what is written.
        self._writable: asyncio.Event | None = None
        #: The request that came last, whether or not its turn has come, and those that wait for theirs.
        self._newest: Exchange | None = None
        self._waiting: deque[tuple[Exchange, ASGIApp]] = deque()
        self._answering: Exchange | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # a stream has one
        self.transport = PartingTransport(transport, is_sending=self._is_sending)
        self._house.connections.add(self)
        self._await_head()
        self._peer, self._here = (transport.get_extra_info(end) for end in ("peername", "sockname"))
        peer = access.peer_of(self._peer, self._here)
        if peer != "own":
            self._take_unproved()
        if len(self._house.connections) > _MAX_CONNECTIONS:
            self._app = _CROWDED
        elif peer != "stranger":
            self._app = self._served

    def connection_lost(self, exc: Exception | None) -> None:
        self._house.left(self)
        self._await_nothing()
        self._await_no_request()
        self._await_no_answer()
        self.transport.forget()
        self.resume_writing()
        for exchange in (self._answering, *(waiting for waiting, _ in self._waiting)):
            if exchange is not None:
                exchange.cut()
        self._incoming.close()

    def shut(self) -> None:
        """End when what was asked is answered."""
        if self._newest is None or self._newest.is_over:
            self.transport.close()
        else:
            self._newest.is_last = True

    def _take_unproved(self) -> None:
        unproved = self._house.unproved
        unproved[self] = None
        if len(unproved) > _MAX_UNPROVED:
            oldest = next(iter(unproved))
            del unproved[oldest]
            oldest.transport.abort()

    def _prove(self) -> None:
        """The peer has shown a token: it no longer takes a place of those that have not."""
        self._house.unproved.pop(self, None)
        self._house.guests.add(self)
        if len(self._house.guests) > _MAX_GUESTS:
            self.transport.abort()

    # What comes in

    def data_received(self, data: bytes) -> None:
        if self._is_deaf or self.transport.is_parting:
            return
        self._await_no_request()
        try:
            self._incoming.feed(data)
        except Unreadable as unreadable:
            self._end_with(unreadable.refusal)
            return
        if self._incoming.place == "head":
            self._await_head()
        else:
            self._await_nothing()

    def eof_received(self) -> bool:
        """Whether to stay: a peer that has said all may still want to hear the answer."""
        self._await_nothing()
        self.transport.flush()  # the loop closes what is below ours when we do not stay
        newest = self._newest
        if newest is None or newest.is_over or not newest.is_whole:
            return False
        if newest.has_begun and not newest.has_length and self._writable is None:
            return False  # a stream that waits for something to tell; its reader has most likely left
        newest.is_last = True
        return True

    def on_request(self, opening: Opening) -> None:
        if len(self._waiting) >= _MAX_WAITING:
            raise Unreadable(None)  # what waits is answered, then the connection ends
        owes_continue = opening.version != "1.0" and any(
            name == b"expect" and value.lower() == b"100-continue" for name, value in opening.headers
        )
        self._newest = Exchange(
            self._scope(opening), self, is_last=opening.is_last, owes_continue=owes_continue
        )
        if self._answering is None:
            self._answer(self._newest, self._app)
        else:
            self._pause_reading()
            self._waiting.append((self._newest, self._app))

    def _scope(self, opening: Opening) -> Scope:
        """The request as applications read it."""
        path = opening.path.decode("ascii")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": opening.version,
            "server": self._here,
            "client": self._peer,
            "scheme": "http",
            "method": opening.method,
            "root_path": "",
            "path": unquote(path) if "%" in path else path,
            "raw_path": opening.path,
            "query_string": opening.query,
            "headers": opening.headers,
            "extensions": {HANG_UP: {"call": self._drop}, PROVED: {"call": self._prove}},
        }

    def on_part(self, part: bytes) -> None:
        assert self._newest is not None
        if not self._newest.is_over and self._newest.take(part) > _MAX_UNASKED_BYTES:
            self._pause_reading()

    def on_whole(self) -> None:
        assert self._newest is not None
        self._newest.scope["extensions"][WHOLE] = {}
        if not self._newest.is_over:
            self._newest.end()

    def _pause_reading(self) -> None:
        self._is_read_paused = True
        self.transport.pause_reading()

    def go_on(self) -> None:
        if self._is_read_paused:
            self._is_read_paused = False
            self.transport.resume_reading()

    # What goes out

    @property
    def headers_of_all(self) -> list[Header]:
        return self._house.headers

    def _answer(self, exchange: Exchange, app: ASGIApp) -> None:
        self._answering = exchange
        self._late = self._loop.call_later(_ANSWER_SECONDS, self._is_late, exchange)
        self._house.let_work(exchange.run(app))

    def answered(self) -> None:
        """The answer is complete: the next one's turn has come, or the peer may ask again."""
        self._answering = None
        self._await_no_answer()
        if self.transport.is_closing():
            return
        self.go_on()
        if self._waiting:
            self._answer(*self._waiting.popleft())
        elif self._newest is not None and not self._newest.is_whole:
            self.transport.close()  # nobody will read the rest
        else:
            self._idle = self._loop.call_later(_IDLE_SECONDS, self.transport.close)

    def failed(self, why: str, error: BaseException | None = None) -> None:
        self._house.log.error(why, exc_info=error)

    def _end_with(self, refusal: Refusal | None) -> None:
        """Hear nothing more; give *refusal* after everything that came before it, and hang up."""
        self._is_deaf = True
        self._await_nothing()
        newest = self._newest
        if refusal is None or (newest is not None and newest.is_whole and not newest.is_over):
            if newest is not None:
                newest.is_last = True  # it stands before the unreadable one; its answer is the last
        elif newest is None or newest.is_over:
            self._say(refusal)
        elif self._waiting:
            newest.is_last = True
            self._waiting[-1] = (newest, refusal)  # its turn comes
        else:
            has_begun = newest.has_begun
            newest.cut()
            self.transport.close() if has_begun else self._say(refusal)

    def _say(self, refusal: Refusal) -> None:
        """Send *refusal* to a peer whom no application answers, and end the connection."""
        response = refusal.response()
        headers = [*self._house.headers, *response.raw_headers, (b"connection", b"close")]
        head = [status_line(refusal.status), *(name + b": " + value for name, value in headers)]
        self.transport.write(b"\r\n".join([*head, b"", bytes(response.body)]))
        self.transport.close()

    def _is_sending(self) -> bool:
        """Whether the peer may be in the middle of something."""
        return self._is_deaf or (self._newest is not None and not self._newest.is_whole)

    def _drop(self) -> None:
        """End the connection at once, and let the kernel forget what the peer did not read."""
        if (end := self.transport.get_extra_info("socket")) is not None:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.transport.abort()

    # What takes too long

    def _await_head(self) -> None:
        if self._deadline is None:
            self._deadline = self._loop.call_later(_HEAD_SECONDS, self._head_is_late)

    def _await_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _await_no_request(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _await_no_answer(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _is_late(self, exchange: Exchange) -> None:
        if WAITS not in exchange.scope["extensions"] and not exchange.has_begun:
            self.failed(f"{exchange.scope['method']} {exchange.scope['path'][:200]} was not answered in time")
            exchange.give_up(_LATE)

    def _head_is_late(self) -> None:
        if self._incoming.place == "head":
            self._end_with(_SLOW)
        else:
            self.transport.close()  # it never said a word

    def pause_writing(self) -> None:
        self._writable = asyncio.Event()
        self._stall = self._loop.call_later(_STALL_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        if self._writable is not None:
            self._writable.set()
            self._writable = None
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    async def drain(self) -> None:
        if self._writable is not None:
            await self._writable.wait()

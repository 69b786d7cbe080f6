"""One HTTP connection: whose it is, and how much it may ask of us.

llhttp rejects what is malformed. What uvicorn leaves open is bounded here: how large a head may be, how
long it may take, how long a peer may go on without reading. Leans on internals of uvicorn 0.54, to which
the project is pinned.
"""

import asyncio
import logging
import socket
import struct
from typing import Literal

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from posthouse.web import door, request_head
from posthouse.web.door import Refusal
from posthouse.web.parting import PartingTransport
from posthouse.web.request_head import Head

_MAX_CONNECTIONS = 512
#: Of those, for others than our own user: nobody else can fill the house.
_MAX_GUESTS = 128
#: Requests that may wait behind one that is not yet answered; uvicorn would take in any number.
_MAX_WAITING = 64
_HEAD_SECONDS = 10.0
_STALL_SECONDS = 10.0
#: The extension by which an application drops a peer that does not read.
HANG_UP = "posthouse.hang_up"
#: The extension that says that all of the request is here, so that nobody need wait for it.
WHOLE = "posthouse.whole"
#: Closing resets.
_NO_LINGER = struct.pack("ii", 1, 0)
#: What may come without telling us anything: half a line, a trailer, empty lines.
_MAX_STRAY_BYTES = 64 << 10

_STRANGER = Refusal(
    status=403,
    detail="Only the user that this process belongs to is served",
    headers={"connection": "close"},
)
_CROWDED = Refusal(status=503, detail="Too many connections; close some", headers={"connection": "close"})
_MALFORMED = Refusal(status=400, detail="That is not HTTP/1.1")
_SLOW = Refusal(status=408, detail=f"The head of the request did not arrive within {_HEAD_SECONDS:g} s")

#: Between requests, in a request's head, or in its body.
Place = Literal["between", "head", "body"]


class House(ServerState):
    """What the connections of one server share."""

    def __init__(self, log: logging.Logger) -> None:
        super().__init__()
        self.log = log
        #: Connections of others than our own user.
        self.guests: set[Connection] = set()


class _Unfit(Exception):
    """Stops the parser; the connection knows why."""


class Connection(HttpToolsProtocol):
    """An HTTP connection whose peer was asked for once, when it was made."""

    server_state: House
    transport: PartingTransport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        self._place: Place = "between"
        self._is_deaf = False
        self._has_progress = False
        self._stray_bytes = self._head_bytes = 0
        self._fault = _MALFORMED
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        self.logger = self.server_state.log
        served, self.app = self.app, _STRANGER  # until the kernel has said otherwise
        super().connection_made(PartingTransport(transport, is_sending=self._is_sending))
        self._await_head()
        peer = door.peer_of(transport.get_extra_info("peername"), transport.get_extra_info("sockname"))
        if peer != "own":
            self._take_guest()
        if len(self.connections) > _MAX_CONNECTIONS:
            self.app = _CROWDED
        elif peer != "stranger":
            self.app = served

    def connection_lost(self, exc: Exception | None) -> None:
        self.server_state.guests.discard(self)
        self._await_nothing()
        self.transport.forget()
        super().connection_lost(exc)

    def _take_guest(self) -> None:
        self.server_state.guests.add(self)
        if len(self.server_state.guests) > _MAX_GUESTS:
            self.transport.abort()

    # What comes in

    def data_received(self, data: bytes) -> None:
        if self._is_deaf or self.transport.is_parting:
            return
        self._unset_keepalive_if_required()
        self._has_progress = False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_deaf = True  # what follows could be anything
            self._await_nothing()
        except httptools.HttpParserError:
            self._refuse(self._fault)
        else:
            self._follow(len(data))

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn's own always lets go
        """Whether to stay: a peer that has said all may still want to hear the answer."""
        self._await_nothing()
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            return False
        if self.cycle.response_started and not self.flow.write_paused:
            return False  # a stream that waits for something to tell; its reader has most likely left
        self.cycle.keep_alive = False
        return True

    def _follow(self, size: int) -> None:
        """Bound what the parser keeps or skips without telling us, in size and in time."""
        if not self._has_progress:
            self._place = "head" if self._place == "between" else self._place
            self._stray_bytes += size
        if self._stray_bytes > _MAX_STRAY_BYTES:
            self._refuse(request_head.TOO_LARGE)
        elif self._place == "head":
            self._await_head()
        else:
            self._await_nothing()

    def _progress(self, place: Place) -> None:
        self._place = place
        self._has_progress = True
        self._stray_bytes = 0

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = 0
        self._progress("head")

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > request_head.MAX_TARGET_BYTES:
            self._stop_parsing(request_head.TARGET_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._place != "head":
            return  # a trailer must not become a header behind the back of whoever checked those
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > request_head.MAX_BYTES or len(self.headers) >= request_head.MAX_FIELDS:
            self._stop_parsing(request_head.TOO_LARGE)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        version, is_upgrade = self.parser.get_http_version(), self.parser.should_upgrade()
        head = Head(target=self.url, version=version, headers=self.headers, is_upgrade=is_upgrade)
        if (refusal := request_head.check(head)) is not None:
            self._stop_parsing(refusal)
        if len(self.pipeline) >= _MAX_WAITING:
            raise _Unfit  # what waits is answered, then the connection ends
        super().on_headers_complete()
        self.scope["extensions"] = {HANG_UP: {"call": self._drop}}
        self._progress("body")
        if is_upgrade:
            self.cycle.keep_alive = False  # served as plain HTTP, once

    def on_body(self, body: bytes) -> None:
        self._progress("body")
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._progress("between")
        self.scope["extensions"][WHOLE] = {}
        super().on_message_complete()

    def _stop_parsing(self, refusal: Refusal) -> None:
        self._fault = refusal
        raise _Unfit

    # What goes out

    def on_response_complete(self) -> None:
        super().on_response_complete()
        is_unheard = self.cycle.response_complete and self.cycle.more_body
        if is_unheard and not self.transport.is_closing():
            self.transport.close()  # nobody will read the rest

    def _refuse(self, refusal: Refusal) -> None:
        """Answer what can't be read, after everything that came before it, and hang up."""
        self._is_deaf = True
        self._await_nothing()
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            self._answer(refusal)
        elif not cycle.more_body:
            cycle.keep_alive = False  # it stands before the unreadable one; its answer is the last
        elif self.pipeline:
            cycle.keep_alive = False
            # The newest; its turn comes. uvicorn and starlette describe the same calls differently.
            self.pipeline[0] = (cycle, refusal)  # type: ignore[assignment]  # uvicorn types it narrower
        else:
            has_begun = cycle.response_started
            cycle.disconnected = True
            cycle.message_event.set()
            self.transport.close() if has_begun else self._answer(refusal)

    def _answer(self, refusal: Refusal) -> None:
        response = refusal.response()
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        head = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(STATUS_LINE[refusal.status] + head + b"\r\n" + bytes(response.body))
        self.transport.close()

    def _is_sending(self) -> bool:
        """Whether the peer may be in the middle of something."""
        return self._is_deaf or (self.cycle is not None and self.cycle.more_body)

    def _drop(self) -> None:
        """End the connection at once, and let the kernel forget what the peer did not read."""
        if (end := self.transport.get_extra_info("socket")) is not None:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.transport.abort()

    # What takes too long

    def _await_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(_HEAD_SECONDS, self._head_is_late)

    def _await_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _head_is_late(self) -> None:
        if self._place == "head":
            self._refuse(_SLOW)
        else:
            self.transport.close()  # it never said a word

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self.loop.call_later(_STALL_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

"""One HTTP connection: its peer, the order of its responses, and its timeouts.

Bounded are the number of connections, the pipelined requests, the time for the head of a request, and the
time that a peer may stay idle or not read.
"""

import asyncio
import socket
import struct
from collections import deque
from urllib.parse import unquote

from starlette.types import ASGIApp, Scope

from posthouse.web import access
from posthouse.web.access import AUTHENTICATED, HANG_UP, RefusalResponse
from posthouse.web.connections import ConnectionRegistry
from posthouse.web.lingering_close import LingeringTransport
from posthouse.web.request_cycle import RequestCycle, status_line
from posthouse.web.request_parser import Header, RequestParser, RequestStart, UnreadableRequest

_MAX_CONNECTIONS = 512
#: Cap for authenticated remote callers.
_MAX_AUTHENTICATED = 128
#: Cap for connections of other users and of remote callers without a token so far. The oldest is closed for
#: the newest: a caller with a token sends it at once.
_MAX_UNAUTHENTICATED = 64
#: Pipelined requests that may wait behind the current one.
_MAX_WAITING = 64
#: Buffered body that the application has not read yet.
_MAX_UNREAD_BYTES = 64 << 10
_HEAD_SECONDS = 10.0
_STALL_SECONDS = 10.0
#: How long a connection is kept for its next request.
_IDLE_SECONDS = 5.0
#: Time until the response must start.
_RESPONSE_SECONDS = 300.0
#: The ASGI extension that marks a completely received request: reading it never waits.
REQUEST_COMPLETE = "posthouse.request_complete"
#: The ASGI extension by which an application lifts the response timeout, until the caller disconnects.
NO_RESPONSE_TIMEOUT = "posthouse.no_response_timeout"
#: With it, closing sends a reset.
_NO_LINGER = struct.pack("ii", 1, 0)

_OTHER_USER = RefusalResponse(
    status=403,
    detail="Only the user that this process belongs to is served",
    headers={"connection": "close"},
)
_TOO_MANY_CONNECTIONS = RefusalResponse(
    status=503, detail="Too many connections; close some", headers={"connection": "close"}
)
_RESPONSE_TIMEOUT = RefusalResponse(
    status=504,
    detail=f"There was no answer within {_RESPONSE_SECONDS:g} s. The request may still be carried out: "
    "check its outcome before you repeat it",
)
_HEAD_TIMEOUT = RefusalResponse(
    status=408, detail=f"The head of the request did not arrive within {_HEAD_SECONDS:g} s"
)


class Connection(asyncio.Protocol):
    """An HTTP connection. Its peer is identified once, on connect."""

    transport: LingeringTransport

    def __init__(self, registry: ConnectionRegistry, app: ASGIApp) -> None:
        self._registry = registry
        self._app: ASGIApp = _OTHER_USER  # until the peer is identified
        self._served_app = app
        self._loop = asyncio.get_running_loop()
        self._parser = RequestParser(self)
        #: Further input is discarded.
        self._ignores_input = False
        self._is_read_paused = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._response_timer: asyncio.TimerHandle | None = None
        #: None while the peer reads what is written.
        self._writable: asyncio.Event | None = None
        #: The request that was received last, and the pipelined ones that wait.
        self._newest: RequestCycle | None = None
        self._waiting: deque[tuple[RequestCycle, ASGIApp]] = deque()
        self._current: RequestCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # a stream has one
        self.transport = LingeringTransport(transport, is_sending=self._is_sending)
        self._registry.connections.add(self)
        self._start_head_timer()
        self._peer, self._local = (transport.get_extra_info(end) for end in ("peername", "sockname"))
        peer = access.peer_of(self._peer, self._local)
        if peer != "own":
            self._register_unauthenticated()
        if len(self._registry.connections) > _MAX_CONNECTIONS:
            self._app = _TOO_MANY_CONNECTIONS
        elif peer != "other_user":
            self._app = self._served_app

    def connection_lost(self, exc: Exception | None) -> None:
        self._registry.remove(self)
        self._cancel_head_timer()
        self._cancel_idle_timer()
        self._cancel_response_timer()
        self.transport.release()
        self.resume_writing()
        for cycle in (self._current, *(waiting for waiting, _ in self._waiting)):
            if cycle is not None:
                cycle.abort()
        self._parser.close()

    def finish(self) -> None:
        """Close after the pending responses."""
        if self._newest is None or self._newest.response_complete:
            self.transport.close()
        else:
            self._newest.is_last = True

    def _register_unauthenticated(self) -> None:
        unauthenticated = self._registry.unauthenticated
        unauthenticated[self] = None
        if len(unauthenticated) > _MAX_UNAUTHENTICATED:
            oldest = next(iter(unauthenticated))
            del unauthenticated[oldest]
            oldest.transport.abort()

    def _on_authenticated(self) -> None:
        """The peer has shown a valid token: it counts towards the cap of authenticated callers."""
        self._registry.unauthenticated.pop(self, None)
        self._registry.authenticated.add(self)
        if len(self._registry.authenticated) > _MAX_AUTHENTICATED:
            self.transport.abort()

    # Input

    def data_received(self, data: bytes) -> None:
        if self._ignores_input or self.transport.is_lingering:
            return
        self._cancel_idle_timer()
        try:
            self._parser.feed(data)
        except UnreadableRequest as unreadable:
            self._refuse_and_close(unreadable.refusal)
            return
        if self._parser.state == "head":
            self._start_head_timer()
        else:
            self._cancel_head_timer()

    def eof_received(self) -> bool:
        """Whether to stay open: a half-closed peer may still read the response."""
        self._cancel_head_timer()
        self.transport.flush()  # the loop closes the transport when this returns False
        newest = self._newest
        if newest is None or newest.response_complete or not newest.request_complete:
            return False
        if newest.response_started and not newest.has_length and self._writable is None:
            return False  # an event stream without a pending write; its reader has most likely left
        newest.is_last = True
        return True

    def on_request(self, request: RequestStart) -> None:
        if len(self._waiting) >= _MAX_WAITING:
            raise UnreadableRequest(None)  # the waiting requests are answered, then the connection ends
        owes_continue = request.version != "1.0" and any(
            name == b"expect" and value.lower() == b"100-continue" for name, value in request.headers
        )
        self._newest = RequestCycle(
            self._scope(request), self, is_last=request.is_last, owes_continue=owes_continue
        )
        if self._current is None:
            self._respond(self._newest, self._app)
        else:
            self._pause_reading()
            self._waiting.append((self._newest, self._app))

    def _scope(self, request: RequestStart) -> Scope:
        """The ASGI scope of the request."""
        path = request.path.decode("ascii")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": request.version,
            "server": self._local,
            "client": self._peer,
            "scheme": "http",
            "method": request.method,
            "root_path": "",
            "path": unquote(path) if "%" in path else path,
            "raw_path": request.path,
            "query_string": request.query,
            "headers": request.headers,
            "extensions": {HANG_UP: {"call": self._reset}, AUTHENTICATED: {"call": self._on_authenticated}},
        }

    def on_body(self, part: bytes) -> None:
        assert self._newest is not None
        if not self._newest.response_complete and self._newest.add_body(part) > _MAX_UNREAD_BYTES:
            self._pause_reading()

    def on_complete(self) -> None:
        assert self._newest is not None
        self._newest.scope["extensions"][REQUEST_COMPLETE] = {}
        if not self._newest.response_complete:
            self._newest.end_body()

    def _pause_reading(self) -> None:
        self._is_read_paused = True
        self.transport.pause_reading()

    def resume_reading_body(self) -> None:
        if self._is_read_paused:
            self._is_read_paused = False
            self.transport.resume_reading()

    # Output

    @property
    def common_headers(self) -> list[Header]:
        return self._registry.common_headers

    def _respond(self, cycle: RequestCycle, app: ASGIApp) -> None:
        self._current = cycle
        self._response_timer = self._loop.call_later(_RESPONSE_SECONDS, self._on_response_timeout, cycle)
        self._registry.start(cycle.run(app))

    def on_response_complete(self) -> None:
        """Start the next pipelined request, or wait for a new one."""
        self._current = None
        self._cancel_response_timer()
        if self.transport.is_closing():
            return
        self.resume_reading_body()
        if self._waiting:
            self._respond(*self._waiting.popleft())
        elif self._newest is not None and not self._newest.request_complete:
            self.transport.close()  # the rest of the body is not read
        else:
            self._idle_timer = self._loop.call_later(_IDLE_SECONDS, self.transport.close)

    def log_failure(self, why: str, error: BaseException | None = None) -> None:
        self._registry.log.error(why, exc_info=error)

    def _refuse_and_close(self, refusal: RefusalResponse | None) -> None:
        """Discard further input; send *refusal* after the pending responses, and close."""
        self._ignores_input = True
        self._cancel_head_timer()
        newest = self._newest
        if refusal is None or (
            newest is not None and newest.request_complete and not newest.response_complete
        ):
            if newest is not None:
                newest.is_last = True  # it precedes the unreadable one; its response is the last
        elif newest is None or newest.response_complete:
            self._send_refusal(refusal)
        elif self._waiting:
            newest.is_last = True
            self._waiting[-1] = (newest, refusal)  # sent in its turn
        else:
            has_begun = newest.response_started
            newest.abort()
            self.transport.close() if has_begun else self._send_refusal(refusal)

    def _send_refusal(self, refusal: RefusalResponse) -> None:
        """Send *refusal* without an application, and close the connection."""
        response = refusal.response()
        headers = [*self._registry.common_headers, *response.raw_headers, (b"connection", b"close")]
        head = [status_line(refusal.status), *(name + b": " + value for name, value in headers)]
        self.transport.write(b"\r\n".join([*head, b"", bytes(response.body)]))
        self.transport.close()

    def _is_sending(self) -> bool:
        """Whether the peer may be in the middle of a request."""
        return self._ignores_input or (self._newest is not None and not self._newest.request_complete)

    def _reset(self) -> None:
        """Reset the connection; unread output is discarded."""
        if (end := self.transport.get_extra_info("socket")) is not None:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.transport.abort()

    # Timeouts

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self._loop.call_later(_HEAD_SECONDS, self._on_head_timeout)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _cancel_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _cancel_response_timer(self) -> None:
        if self._response_timer is not None:
            self._response_timer.cancel()
            self._response_timer = None

    def _on_response_timeout(self, cycle: RequestCycle) -> None:
        if NO_RESPONSE_TIMEOUT not in cycle.scope["extensions"] and not cycle.response_started:
            self.log_failure(f"{cycle.scope['method']} {cycle.scope['path'][:200]} was not answered in time")
            cycle.time_out(_RESPONSE_TIMEOUT)

    def _on_head_timeout(self) -> None:
        if self._parser.state == "head":
            self._refuse_and_close(_HEAD_TIMEOUT)
        else:
            self.transport.close()  # the peer never sent anything

    def pause_writing(self) -> None:
        self._writable = asyncio.Event()
        self._stall_timer = self._loop.call_later(_STALL_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        if self._writable is not None:
            self._writable.set()
            self._writable = None
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    async def drain(self) -> None:
        if self._writable is not None:
            await self._writable.wait()

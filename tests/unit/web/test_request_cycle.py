"""One request and its answer, as an application sees them."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from posthouse.web.lingering_close import LingeringTransport
from posthouse.web.request_cycle import RequestCycle
from posthouse.web.request_parser import Header

DATE = b"date: today\r\n"


class Sent:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.content = b""
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.content += data

    def close(self) -> None:
        self.is_closed = True


class FakeConnection:
    """A connection whose peer reads everything."""

    def __init__(self) -> None:
        self.sent = Sent()
        self.transport = cast(LingeringTransport, self.sent)
        self.answers = 0
        self.faults: list[str] = []

    @property
    def common_headers(self) -> list[Header]:
        return [(b"date", b"today")]

    def resume_reading_body(self) -> None: ...

    async def drain(self) -> None: ...

    def on_response_complete(self) -> None:
        self.answers += 1

    def log_failure(self, why: str, error: BaseException | None = None) -> None:
        self.faults.append(why)


def exchanged(
    app: ASGIApp,
    *,
    method: str = "GET",
    version: str = "1.1",
    is_last: bool = False,
    before: Callable[[RequestCycle], None] = lambda cycle: cycle.end_body(),
) -> FakeConnection:
    """What *app* does to a connection."""
    line = FakeConnection()

    async def played() -> None:
        scope = {"type": "http", "method": method, "http_version": version}
        cycle = RequestCycle(scope, line, is_last=is_last, owes_continue=False)
        before(cycle)
        await cycle.run(app)

    asyncio.run(played())
    return line


async def _parts(scope: Scope, receive: Receive, send: Send) -> None:
    async def parts() -> Any:
        yield b"one"
        yield b"three"

    await StreamingResponse(parts())(scope, receive, send)


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    asked = await receive()
    await Response(asked["body"])(scope, receive, send)


def test_an_answer_of_known_length_leaves_the_connection_open() -> None:
    """Its head has what every answer carries."""
    line = exchanged(Response(b"hello"))

    assert line.sent.content == b"HTTP/1.1 200 OK\r\n" + DATE + b"content-length: 5\r\n\r\nhello"
    assert (line.answers, line.sent.is_closed, line.faults) == (1, False, [])


def test_an_answer_of_unknown_length_goes_in_chunks() -> None:
    """So that its end is known."""
    line = exchanged(_parts)

    assert line.sent.content == (
        b"HTTP/1.1 200 OK\r\n"
        + DATE
        + b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"
    )


def test_an_old_peer_hears_the_end_from_the_connection() -> None:
    """HTTP/1.0 knows no chunks."""
    line = exchanged(_parts, version="1.0", is_last=True)

    assert line.sent.content == b"HTTP/1.1 200 OK\r\n" + DATE + b"connection: close\r\n\r\nonethree"
    assert line.sent.is_closed


def test_the_last_answer_says_so_once_and_closes() -> None:
    """Whether the peer or the application wanted it."""
    by_peer = exchanged(Response(b""), is_last=True)
    by_both = exchanged(Response(b"", headers={"connection": "close"}), is_last=True)

    assert by_peer.sent.content.count(b"connection: close") == 1
    assert by_both.sent.content.count(b"connection: close") == 1
    assert (by_peer.sent.is_closed, by_both.sent.is_closed) == (True, True)


def test_the_answer_to_head_has_no_body() -> None:
    """But the length that it would have."""
    line = exchanged(Response(b"hello"), method="HEAD")

    assert line.sent.content.endswith(b"content-length: 5\r\n\r\n")
    assert line.answers == 1


def test_a_body_that_came_is_read() -> None:
    """In one piece, however many it came in."""

    def came(cycle: RequestCycle) -> None:
        cycle.add_body(b"he")
        cycle.add_body(b"llo")
        cycle.end_body()

    assert exchanged(_echo, before=came).sent.content.endswith(b"\r\n\r\nhello")


def test_nothing_is_sent_to_a_peer_that_has_gone() -> None:
    """The application is not disturbed."""
    line = exchanged(Response(b"hello"), before=RequestCycle.abort)

    assert (line.sent.content, line.faults) == (b"", [])


async def _crash(scope: Scope, receive: Receive, send: Send) -> None:
    raise ValueError


async def _crash_late(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise ValueError


async def _say_nothing(scope: Scope, receive: Receive, send: Send) -> None: ...


async def _inject(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"x-name", b"a\r\nset-cookie: b")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _promise_more(scope: Scope, receive: Receive, send: Send) -> None:
    await Response(b"hello", headers={"content-length": "7"})(scope, receive, send)


FAULTS: dict[str, tuple[Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]], int]] = {
    "it fails": (_crash, 500),
    "it fails in the middle of its answer": (_crash_late, 200),
    "it does not answer": (_say_nothing, 500),
    "a header would become two": (_inject, 0),
    "it says less than it promised": (_promise_more, 200),
}


@pytest.mark.parametrize(("app", "status"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_of_the_application_ends_the_connection(app: ASGIApp, status: int) -> None:
    """The peer is told if it can be; our log is told in any case."""
    line = exchanged(app)

    told = line.sent.content.partition(b" ")[2][:3]
    assert (int(told or 0), line.sent.is_closed, len(line.faults)) == (status, True, 1)


def test_what_is_still_answered_when_the_server_stops_is_told_so() -> None:
    """With 503, and nothing in the log."""
    line = FakeConnection()

    async def wait(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    async def played() -> None:
        cycle = RequestCycle({"type": "http", "method": "GET"}, line, is_last=False, owes_continue=False)
        running = asyncio.create_task(cycle.run(wait))
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(played())

    assert line.sent.content.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert (line.sent.is_closed, line.faults) == (True, [])

"""What a connection says to a peer, by what comes on it."""

import asyncio
import logging
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from posthouse.web import connection as connections
from posthouse.web import door
from posthouse.web.connection import Connection
from posthouse.web.house import House


class Recorded(asyncio.Transport):
    """Keeps what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def close(self) -> None: ...

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1)


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(body)(scope, receive, send)


@pytest.fixture(autouse=True)
def our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every peer is our own user."""
    monkeypatch.setattr(door, "peer_of", lambda *_: "own")


def heard_of(request: bytes) -> bytes:
    """What a peer hears that sends *request*, and its end one round of the loop later."""

    async def all_of_it() -> bytes:
        transport = Recorded()
        connection = Connection(House(logging.getLogger("test")), _echo)
        connection.connection_made(transport)
        connection.data_received(request)
        await asyncio.sleep(0)
        connection.eof_received()
        heard = transport.written
        connection.connection_lost(None)
        return heard

    return asyncio.run(all_of_it())


def test_a_peer_that_stops_sending_hears_what_was_answered() -> None:
    """The answer is complete, but not yet below, when the end of what comes is told."""
    heard = heard_of(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")

    assert heard.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("version", "first"), [("1.1", b"HTTP/1.1 100 Continue"), ("1.0", b"HTTP/1.1 200 OK")]
)
def test_only_who_knows_it_is_told_to_go_on(version: str, first: bytes) -> None:
    """HTTP/1.0 has no answers before the answer."""
    head = f"POST / HTTP/{version}\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\nhi"

    assert heard_of(head.encode()).partition(b"\r\n")[0] == first


@pytest.mark.parametrize(("headers", "stays"), [([(b"content-length", b"9")], True), ([], False)])
def test_who_stops_sending_in_the_middle_of_an_answer_hears_its_end(
    headers: list[tuple[bytes, bytes]], stays: bool
) -> None:
    """One whose length is known does end; a reader of a stream that has no end has most likely left."""

    async def half(_scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"some", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass

    async def met() -> bool:
        connection = Connection(House(logging.getLogger("test")), half)
        connection.connection_made(Recorded())
        connection.data_received(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        await asyncio.sleep(0)
        does_stay = connection.eof_received()
        connection.connection_lost(None)
        return does_stay

    assert asyncio.run(met()) is stays


@pytest.mark.parametrize("waits", [False, True])
def test_a_request_that_is_not_answered_in_time_is_told_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    """Its caller hears 504 and its work is not broken off; who asked to wait is not disturbed."""
    monkeypatch.setattr(connections, "_ANSWER_SECONDS", 0.01)
    ended: list[bool] = []

    async def conversation() -> tuple[bytes, bytes]:
        transport, gate = Recorded(), asyncio.Event()

        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            if waits:
                scope["extensions"][connections.WAITS] = {}
            await gate.wait()
            await PlainTextResponse("late")(scope, receive, send)
            ended.append(True)

        connection = Connection(House(logging.getLogger("test")), slow)
        connection.connection_made(transport)
        connection.data_received(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        passed = asyncio.Event()
        asyncio.get_running_loop().call_later(0.05, passed.set)  # behind the limit, on the same clock
        await passed.wait()
        before = transport.written
        gate.set()
        while not ended:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        after = transport.written
        connection.connection_lost(None)
        return before, after

    before, after = asyncio.run(conversation())

    if waits:
        assert (before, after.startswith(b"HTTP/1.1 200 OK")) == (b"", True)
    else:
        assert before.startswith(b"HTTP/1.1 504 Gateway Timeout")
        assert b"detail" in before
        assert after == before
    assert ended == [True]

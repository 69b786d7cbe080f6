"""What a connection says to a peer, by what comes on it."""

import asyncio
import logging
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from posthouse.web import access
from posthouse.web import connection as connections
from posthouse.web.connection import Connection
from posthouse.web.connections import ConnectionRegistry
from posthouse.web.token import authenticator


class Recorded(asyncio.Transport):
    """Keeps what was written."""

    def __init__(self, peer: tuple[str, int] = ("127.0.0.1", 1)) -> None:
        super().__init__()
        self.written = b""
        self.is_aborted = False
        self._peer = peer

    def abort(self) -> None:
        self.is_aborted = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def close(self) -> None: ...

    def write_eof(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._peer if name == "peername" else ("127.0.0.1", 1)


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(body)(scope, receive, send)


@pytest.fixture(autouse=True)
def our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every peer is our own user."""
    monkeypatch.setattr(access, "peer_of", lambda *_: "own")


def heard_of(request: bytes) -> bytes:
    """What a peer hears that sends *request*, and its end one round of the loop later."""

    async def all_of_it() -> bytes:
        transport = Recorded()
        made = Connection(ConnectionRegistry(logging.getLogger("test")), _echo)
        made.connection_made(transport)
        made.data_received(request)
        await asyncio.sleep(0)
        made.eof_received()
        heard = transport.written
        made.connection_lost(None)
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
        made = Connection(ConnectionRegistry(logging.getLogger("test")), half)
        made.connection_made(Recorded())
        made.data_received(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        await asyncio.sleep(0)
        does_stay = made.eof_received()
        made.connection_lost(None)
        return does_stay

    assert asyncio.run(met()) is stays


@pytest.mark.parametrize("waits", [False, True])
def test_a_request_that_is_not_answered_in_time_is_told_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    """Its caller hears 504 and its work is not broken off; who asked to wait is not disturbed."""
    monkeypatch.setattr(connections, "_RESPONSE_SECONDS", 0.01)
    ended: list[bool] = []

    async def conversation() -> tuple[bytes, bytes]:
        transport, gate = Recorded(), asyncio.Event()

        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            if waits:
                scope["extensions"][connections.NO_RESPONSE_TIMEOUT] = {}
            await gate.wait()
            await PlainTextResponse("late")(scope, receive, send)
            ended.append(True)

        connection = Connection(ConnectionRegistry(logging.getLogger("test")), slow)
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


def test_blanks_around_a_value_are_no_part_of_it() -> None:
    """RFC 9110 has them stripped; every check sees the same value."""

    async def values(scope: Scope, receive: Receive, send: Send) -> None:
        heard = dict(scope["headers"])
        await PlainTextResponse(heard[b"host"] + b"|" + heard[b"x-empty"])(scope, receive, send)

    async def heard() -> bytes:
        transport = Recorded()
        made = Connection(ConnectionRegistry(logging.getLogger("test")), values)
        made.connection_made(transport)
        made.data_received(b"GET / HTTP/1.1\r\nHost: \tlocalhost \t \r\nX-Empty: \t \r\n\r\n")
        await asyncio.sleep(0)
        made.eof_received()
        made.connection_lost(None)
        return transport.written

    assert asyncio.run(heard()).endswith(b"\r\n\r\nlocalhost|")


def test_every_answer_says_that_its_type_is_not_to_be_guessed() -> None:
    """Browsers run nothing that is not sent as a script; refusals by the connection itself too."""
    served = heard_of(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
    malformed = heard_of(b"no HTTP\r\n\r\n")

    wanted = b"\r\nx-content-type-options: nosniff\r\n"
    assert (served.count(wanted), malformed.count(wanted)) == (1, 1)


def test_peers_without_a_token_take_no_place_of_those_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that have shown none, the oldest makes room for the newest; a caller with a token stays."""
    monkeypatch.setattr(access, "peer_of", lambda *_: "remote")
    monkeypatch.setattr(connections, "_MAX_UNAUTHENTICATED", 2)
    token = b"a-token-of-forty-three-characters-as-they-are"

    async def scenario() -> list[bool]:
        house = ConnectionRegistry(logging.getLogger("test"))
        app = access.AccessControl(_echo, authenticator(token))
        made: list[tuple[Connection, Recorded]] = []

        def arrive(head: bytes = b"") -> None:
            peer, transport = Connection(house, app), Recorded(("192.0.2.7", len(made)))
            made.append((peer, transport))
            peer.connection_made(transport)
            if head:
                peer.data_received(head)

        arrive(b"GET / HTTP/1.1\r\nhost: a\r\nauthorization: Bearer " + token + b"\r\n\r\n")
        await asyncio.sleep(0)
        for _ in range(3):
            arrive()
        dropped = [transport.is_aborted for _, transport in made]
        for peer, _ in made:
            peer.connection_lost(None)
        assert (house.authenticated, house.unauthenticated) == (set(), {})
        return dropped

    assert asyncio.run(scenario()) == [False, True, False, False]

"""Answers over connections that are kept, from servers that behave in every way."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from posthouse.clients import connections
from posthouse.clients.connections import BadResponse, ConnectionPool, HttpResponse

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
LIMIT_SECONDS = 60.0


class Peer:
    """A server that gives each request the next of *answers*; an empty one hangs up, None is silence."""

    def __init__(self, *answers: bytes | None) -> None:
        self._answers = list(answers)
        self.heads: list[bytes] = []
        self.connected = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected += 1
        try:
            while head := await _request(reader):
                self.heads.append(head)
                answer = self._answers.pop(0)
                if answer is None:
                    await reader.read()
                if not answer:
                    return
                writer.write(answer)
        finally:
            writer.close()


async def _request(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def with_peer(peer: Peer, scenario: Callable[[ConnectionPool], Awaitable[None]]) -> None:
    async def run() -> None:
        server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
        made = ConnectionPool("127.0.0.1", server.sockets[0].getsockname()[1])
        async with server:
            await scenario(made)
            made.close()

    asyncio.run(run())


async def ask(made: ConnectionPool, method: str = "GET", *, seconds: float = LIMIT_SECONDS) -> HttpResponse:
    return await made.request(method, "/x", headers={"accept": "*/*"}, body=None, seconds=seconds)


def test_one_connection_serves_many_questions() -> None:
    """And what is said is passed on as it is."""
    peer = Peer(
        OK, b"HTTP/1.1 404 Not Found\r\nX-Word: yes\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nn\r\n0\r\n\r\n"
    )

    async def scenario(made: ConnectionPool) -> None:
        assert await ask(made) == HttpResponse(status=200, headers=(("content-length", "2"),), body=b"{}")
        second = await ask(made)
        assert (second.status, second.header("x-word"), second.body) == (404, "yes", b"n")

    with_peer(peer, scenario)
    assert peer.connected == 1
    assert peer.heads[0].startswith(b"GET /x HTTP/1.1\r\nhost: 127.0.0.1:")


def test_a_server_that_closes_after_its_answer_is_connected_to_again() -> None:
    """`Connection: close` is heard."""
    peer = Peer(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", OK)

    async def scenario(made: ConnectionPool) -> None:
        assert [(await ask(made)).status, (await ask(made)).status] == [200, 200]

    with_peer(peer, scenario)
    assert peer.connected == 2


def test_only_a_look_is_repeated_when_a_kept_connection_was_closed() -> None:
    """A GET that met a closing connection is asked once more; anything else might be done twice."""
    peer = Peer(OK, b"", OK, b"")

    async def scenario(made: ConnectionPool) -> None:
        await ask(made)
        assert (await ask(made)).status == 200
        with pytest.raises(ConnectionError):
            await ask(made, "POST")

    with_peer(peer, scenario)
    assert (peer.connected, len(peer.heads)) == (2, 4)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"hello\r\n\r\n", id="not HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n", id="a length that is no number"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000, id="a head without end"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhello", id="too large"),
        pytest.param(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", id="an upgrade"),
    ],
)
def test_what_is_no_answer_is_told_apart(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Garbage is neither silence nor an answer, and never grows without end."""
    monkeypatch.setattr(connections, "MAX_RESPONSE_BYTES", 40)

    async def scenario(made: ConnectionPool) -> None:
        with pytest.raises(BadResponse):
            await ask(made)

    with_peer(Peer(answer), scenario)


def test_an_answer_that_breaks_off_is_no_answer() -> None:
    """Half a body is not passed on."""

    async def scenario(made: ConnectionPool) -> None:
        with pytest.raises(ConnectionError):
            await ask(made)

    peer = Peer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b"")

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        writer.close()

    peer.serve = hang_up  # type: ignore[method-assign]  # a server of another kind
    with_peer(peer, scenario)


def test_silence_has_an_end() -> None:
    """And what is said too late is not taken for the answer to the next question."""

    async def scenario(made: ConnectionPool) -> None:
        with pytest.raises(TimeoutError):
            await ask(made, seconds=0.05)
        assert (await ask(made)).status == 200

    with_peer(Peer(None, OK), scenario)


def test_a_line_break_in_a_head_is_never_sent() -> None:
    """Nobody can smuggle a second request in."""

    async def run() -> None:
        with pytest.raises(ValueError, match="line break"):
            await ConnectionPool("127.0.0.1", 1).request(
                "GET", "/", headers={"x": "a\r\nb: c"}, body=None, seconds=LIMIT_SECONDS
            )

    asyncio.run(run())

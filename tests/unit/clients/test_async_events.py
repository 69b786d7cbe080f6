"""A stream of events read in a loop, from something that listens and is not always a gateway."""

import asyncio

import pytest

from posthouse.clients import async_events
from posthouse.clients.async_events import open_events
from posthouse.clients.events import StreamBroken
from posthouse.testing.peers import answering

OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
IN_PARTS = OK + b"transfer-encoding: chunked\r\n\r\n"
BLOCKS = (
    b'retry: 1000\nid: 4-end\n\nid: 5-aa\ndata: {"kind": "one"}\n\n: \n\nid: 6-bb\ndata: {"kind": "two"}\n\n'
)


def chunked(*parts: bytes) -> bytes:
    told = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))
    return IN_PARTS + told


def heard(answer: bytes, *, asked: list[bytes] | None = None, since: str | None = None) -> list[str | None]:
    """The kinds of what is told by somebody who answers so; None for a sign of life."""

    def answered(head: bytes) -> bytes:
        if asked is not None:
            asked.append(head)
        return answer

    async def listen() -> list[str | None]:
        async with answering(answered) as port, open_events(port, since=since) as stream:
            return [one and one.kind async for one in stream]

    return asyncio.run(listen())


WHOLE = {
    "by its connection's end": OK + b"\r\n" + BLOCKS,
    "in one part": chunked(BLOCKS),
    "in parts that end anywhere": chunked(BLOCKS[:11], BLOCKS[11:50], BLOCKS[50:]),
}


@pytest.mark.parametrize("answer", WHOLE.values(), ids=WHOLE.keys())
def test_events_and_signs_of_life_are_heard_in_order(answer: bytes) -> None:
    """However the stream is cut into parts."""
    assert heard(answer) == [None, "one", None, "two"]


def test_the_place_to_go_on_from_is_asked_for() -> None:
    """As one parameter, whatever is in it."""
    asked: list[bytes] = []
    heard(OK + b"\r\n", asked=asked, since="5-aa&x")

    assert asked[0].split(b"\r\n")[0] == b"GET /v1/events?follow=true&since=5-aa%26x HTTP/1.1"


BROKEN = {
    "a refusal": (b"HTTP/1.1 503 Busy\r\n\r\n{}", "refused its events: HTTP/1.1 503 Busy"),
    "no HTTP": (b"hello\r\n\r\n", "refused its events: hello"),
    "nothing": (b"", "refused its events"),
    "a part without a length": (OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n", "invalid chunk length"),
    "a part without end": (OK + b"transfer-encoding: chunked\r\n\r\nfffffff\r\n", "exceeds"),
    "a part that breaks off": (
        OK + b"transfer-encoding: chunked\r\n\r\n5\r\nid",
        "event stream broken",
    ),
    "no JSON": (OK + b"\r\nid: 1\ndata: {\n\n", "not JSON"),
}


@pytest.mark.parametrize(("answer", "told"), BROKEN.values(), ids=BROKEN.keys())
def test_whatever_is_no_stream_is_told_as_broken(answer: bytes, told: str) -> None:
    """Never as something else."""
    with pytest.raises(StreamBroken, match=told):
        heard(answer)


def test_a_stream_that_falls_silent_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway gives a sign of life; one that does not is gone."""
    monkeypatch.setattr(async_events, "_SILENCE_SECONDS", 0.05)

    async def listen() -> None:
        async with (
            answering(lambda _: OK + b"\r\n", stays=True) as port,
            open_events(port, since=None) as stream,
        ):
            with pytest.raises(StreamBroken, match="no data"):
                await stream.start_position()

    asyncio.run(listen())


def test_nobody_there_is_broken_too() -> None:
    """The port may have been a gateway's once."""

    async def listen() -> None:
        with pytest.raises(StreamBroken):
            async with open_events(1, since=None):
                pass

    asyncio.run(listen())

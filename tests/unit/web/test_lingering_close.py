"""How a connection sends and ends."""

import asyncio
from collections.abc import Callable

import pytest

from posthouse.web import lingering_close
from posthouse.web.lingering_close import LingeringTransport


class Recorded(asyncio.Transport):
    """Keeps what was done to it, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[object] = []
        self._is_closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.done.append(bytes(data))

    def write_eof(self) -> None:
        self.done.append("eof")

    def resume_reading(self) -> None:
        self.done.append("resume")

    def close(self) -> None:
        self._is_closing = True
        self.done.append("close")

    def abort(self) -> None:
        self._is_closing = True
        self.done.append("abort")

    def is_closing(self) -> bool:
        return self._is_closing


def _together(transport: LingeringTransport) -> None:
    transport.write(b"head")
    transport.write(b"body")


def _much(transport: LingeringTransport) -> None:
    transport.write(b"x" * (20 << 10))
    transport.write(b"y")


def _closed(transport: LingeringTransport) -> None:
    _together(transport)
    transport.close()
    transport.write(b"too late")


def _aborted(transport: LingeringTransport) -> None:
    _together(transport)
    transport.abort()


STORIES: dict[str, tuple[Callable[[LingeringTransport], None], list[object]]] = {
    "what is written together goes out together": (_together, [b"headbody"]),
    "much goes out at once": (_much, [b"x" * (20 << 10), b"y"]),
    "what was written before a close goes out, and nothing after it": (_closed, [b"headbody", "close"]),
    "an abort drops what has not gone out": (_aborted, ["abort"]),
}


@pytest.mark.parametrize(("story", "done"), STORIES.values(), ids=STORIES.keys())
def test_a_round_of_the_loop_is_one_write(
    story: Callable[[LingeringTransport], None], done: list[object]
) -> None:
    """The head of an answer and its body are one system call."""
    beneath = Recorded()

    async def played() -> None:
        story(LingeringTransport(beneath, is_sending=lambda: False))
        await asyncio.sleep(0)

    asyncio.run(played())

    assert beneath.done == done


def test_a_peer_that_is_still_sending_is_told_and_then_heard_out() -> None:
    """What was written last reaches it before we say that we are done."""
    beneath = Recorded()

    async def played() -> None:
        transport = LingeringTransport(beneath, is_sending=lambda: True)
        transport.write(b"refused")
        transport.close()
        transport.release()

    asyncio.run(played())

    assert beneath.done == [b"refused", "eof", "resume"]


def test_a_peer_that_never_reads_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left for it would keep the connection for ever."""
    monkeypatch.setattr(lingering_close, "_FLUSH_SECONDS", 0.0)
    beneath = Recorded()

    async def played() -> None:
        LingeringTransport(beneath, is_sending=lambda: False).close()
        async with asyncio.timeout(60):
            while "abort" not in beneath.done:
                await asyncio.sleep(0)

    asyncio.run(played())

    assert beneath.done == ["close", "abort"]

"""Which output makes a pane worth looking at."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from posthouse.terminal.control import ControlClient, Listener
from posthouse.terminal.pane_activity import PaneFollower, without_animation

IDLE, BUSY = b"\x1b]0;\xe2\x9c\xb3 x\x07", b"\x1b]2;\xe2\xa0\x82 x\x1b\\"


class FakeClient:
    """A client whose output is the test's. A real one needs tmux: see the integration tests."""

    def __init__(self) -> None:
        self.listeners: list[Listener] = []

    def watch(self, listener: Listener) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)


def hurries(*chunks: bytes, pane_id: str = "%1") -> list[int]:
    """After which chunks the pane was looked at without waiting for a pause."""

    async def story() -> list[int]:
        client, looks = FakeClient(), []
        follower = PaneFollower(cast(ControlClient, client), "%1", lambda: looks.append(True))
        found = []
        for number, chunk in enumerate(chunks):
            before = len(looks)
            cast(Any, follower)._debouncer._called_at = float("-inf")  # each of them may hurry
            client.listeners[0](pane_id, chunk)
            found += [number] if len(looks) > before else []
        follower.close()
        assert client.listeners == []
        return found

    return asyncio.run(story())


STORIES: dict[str, tuple[tuple[bytes, ...], list[int]]] = {
    "words are no hurry": ((b"hello", b"\x1b[2Jworld"), []),
    "a new title is": ((IDLE, BUSY, IDLE), [0, 1, 2]),
    "the same title is not": ((IDLE, IDLE), [0]),
    "a spinner's next picture is not": ((BUSY, BUSY.replace(b"\x82", b"\x90")), [0]),
    "the last title of many counts": ((IDLE, BUSY + IDLE), [0]),
    "a title in the middle of words": ((b"abc" + IDLE + b"def",), [0]),
    "a title cut in two": ((IDLE[:6], IDLE[6:]), [1]),
    "a title cut after its first byte": ((b"x" + IDLE[:1], IDLE[1:]), [1]),
    "an end without a beginning": ((IDLE[6:],), []),
    "a title without end is let go": ((b"\x1b]0;" + b"x" * 2000, b"\x07"), []),
    "a person begins to scroll": ((b"",), [0]),
}


@pytest.mark.parametrize(("chunks", "hurried"), STORIES.values(), ids=STORIES.keys())
def test_a_title_that_says_something_new_is_looked_at_now(
    chunks: tuple[bytes, ...], hurried: list[int]
) -> None:
    """Everything else waits for a pause."""
    assert hurries(*chunks) == hurried


def test_other_panes_do_not_matter() -> None:
    """A session may have several."""
    assert hurries(IDLE, pane_id="%2") == []


def test_what_only_moves_says_nothing() -> None:
    """Spinners turn, and codex blinks."""
    assert without_animation("⠋ proj") == without_animation("⠙ proj")
    assert without_animation("[ . ] Action Required | x") == without_animation("[ ! ] Action Required | x")
    assert without_animation("⠋ proj") != without_animation("✳ proj")

"""Blocking work beside a loop."""

import asyncio
import threading

import pytest

from posthouse.errors import Unavailable
from posthouse.support.threads import BoundedThreads, TookTooLong

_LONG = 60.0


def test_values_and_errors_come_back() -> None:
    """What the work returns or raises is what its asker gets."""

    def fail() -> None:
        raise KeyError("broken")

    async def ask() -> int:
        threads = BoundedThreads(max_running=1, max_waiting=1, name="storage")
        with pytest.raises(KeyError, match="broken"):
            await threads.run(fail, within_seconds=_LONG)
        return await threads.run(lambda: 7, within_seconds=_LONG)

    assert asyncio.run(ask()) == 7


def test_work_that_hangs_is_left_behind() -> None:
    """Its asker is told in time, its place stays taken, and when it ends the place is free again."""
    let_go = threading.Event()

    async def ask() -> list[str]:
        threads = BoundedThreads(max_running=1, max_waiting=0, name="storage")
        with pytest.raises(TookTooLong):
            await threads.run(let_go.wait, within_seconds=0.01)
        with pytest.raises(Unavailable, match="1 calls wait for storage already") as refused:
            await threads.run(lambda: "too early", within_seconds=_LONG)
        assert refused.value.code == "too_much_waits"
        let_go.set()
        while True:
            try:
                return [await threads.run(lambda: "later", within_seconds=_LONG)]
            except Unavailable:
                await asyncio.sleep(0.005)

    assert asyncio.run(ask()) == ["later"]


def test_the_loop_goes_on_meanwhile() -> None:
    """Blocking work does not block the loop."""
    let_go = threading.Event()

    async def ask() -> bool:
        threads = BoundedThreads(max_running=1, max_waiting=0, name="storage")
        asked = asyncio.create_task(threads.run(let_go.wait, within_seconds=_LONG))
        await asyncio.sleep(0)
        let_go.set()
        return await asked

    assert asyncio.run(ask())


def test_waiting_behind_work_that_hangs_ends() -> None:
    """Work that does not start in time is refused, and was not begun."""
    let_go = threading.Event()

    async def ask() -> None:
        threads = BoundedThreads(max_running=1, max_waiting=10, name="storage")
        with pytest.raises(TookTooLong):
            await threads.run(let_go.wait, within_seconds=0.01)
        with pytest.raises(Unavailable, match="storage still waits for earlier calls"):
            await threads.run(lambda: "too late", within_seconds=0.01)
        let_go.set()
        assert await threads.run(lambda: "later", within_seconds=_LONG) == "later"

    asyncio.run(ask())

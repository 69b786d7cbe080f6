"""When something that changes is looked at."""

import asyncio
from collections.abc import Callable

import pytest

from posthouse.support import debounce
from posthouse.support.debounce import Debouncer


class Looked:
    """Counts looks, and can be waited for."""

    def __init__(self) -> None:
        self.count = 0
        self._event = asyncio.Event()

    def look(self) -> None:
        self.count += 1
        self._event.set()

    async def wait(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self._event.clear()
        async with asyncio.timeout(30):
            while not self._event.is_set():
                meanwhile()
                await asyncio.sleep(0)


def test_nothing_is_looked_at_while_nothing_changes() -> None:
    """It has no timer of its own."""

    async def story() -> int:
        looked = Looked()
        Debouncer(looked.look, quiet_seconds=0.0, max_interval_seconds=0.0)
        await asyncio.sleep(0.01)
        return looked.count

    assert asyncio.run(story()) == 0


def test_a_burst_is_looked_at_once_when_it_pauses() -> None:
    """Not at each of its changes."""

    async def story() -> int:
        looked = Looked()
        debouncer = Debouncer(looked.look, quiet_seconds=0.01, max_interval_seconds=3600)
        debouncer.trigger()
        for _ in range(50):
            debouncer.mark_changed()
        await looked.wait()
        return looked.count

    assert asyncio.run(story()) == 2


def test_what_never_pauses_is_looked_at_all_the_same() -> None:
    """Its changes come closer together than any pause."""

    async def story() -> int:
        looked = Looked()
        debouncer = Debouncer(looked.look, quiet_seconds=0.05, max_interval_seconds=0.1)
        debouncer.trigger()
        await looked.wait(debouncer.mark_changed)
        debouncer.close()
        return looked.count

    assert asyncio.run(story()) == 2


def test_a_trigger_replaces_what_was_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not wait for a pause; the next one waits a moment."""
    monkeypatch.setattr(debounce, "_MIN_INTERVAL_SECONDS", 3600)

    async def story() -> tuple[int, int]:
        looked = Looked()
        debouncer = Debouncer(looked.look, quiet_seconds=0.001, max_interval_seconds=0.001)
        debouncer.mark_changed()
        debouncer.trigger()
        at_once = looked.count
        debouncer.trigger()
        await asyncio.sleep(0.02)
        debouncer.close()
        return at_once, looked.count

    assert asyncio.run(story()) == (1, 1)

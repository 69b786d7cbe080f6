"""Hearing of a real server's sessions."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from posthouse.terminal import session
from posthouse.terminal.client import Server, Tmux
from posthouse.terminal.session_watcher import SessionWatcher
from posthouse.testing.waiting import LIMIT_SECONDS


@pytest.fixture
def tmux(tmux_server: Server) -> Tmux:
    return Tmux(tmux_server)


def attended(server: Server, scenario: Callable[[SessionWatcher, "Told"], Awaitable[None]]) -> None:
    """Run *scenario* beside an watcher of *server*, of which two sessions are ours."""

    async def run() -> None:
        told = Told()
        watcher = SessionWatcher(server, expected=lambda: frozenset({"one", "two"}), on_change=told.wake)
        running = asyncio.create_task(watcher.run())
        try:
            await scenario(watcher, told)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    asyncio.run(run())


class Told:
    """Waits for what the watcher tells."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def wake(self) -> None:
        self._changed.set()

    async def until(self, watcher: SessionWatcher, sessions: frozenset[str] | None) -> None:
        async with asyncio.timeout(LIMIT_SECONDS):
            while watcher.sessions != sessions:
                self._changed.clear()
                await self._changed.wait()


def make(tmux: Tmux, name: str, folder: Path) -> None:
    session.create(tmux, name, working_directory=folder, environment={})


def test_sessions_that_come_and_go_are_told(tmux: Tmux, tmp_path: Path) -> None:
    """Nobody asks meanwhile; the session that was joined for it may be the one that ends."""
    make(tmux, "one", tmp_path)

    async def scenario(watcher: SessionWatcher, told: Told) -> None:
        await told.until(watcher, frozenset({"one"}))
        await asyncio.to_thread(make, tmux, "two", tmp_path)
        await told.until(watcher, frozenset({"one", "two"}))
        await asyncio.to_thread(session.kill, tmux, "one")
        await told.until(watcher, frozenset({"two"}))
        await asyncio.to_thread(session.kill, tmux, "two")
        await told.until(watcher, frozenset())

    attended(tmux.server, scenario)


def test_a_server_that_starts_later_is_seen_when_somebody_says_so(tmux: Tmux, tmp_path: Path) -> None:
    """Without a session there is nobody to hear it from; a person's own session is never joined."""

    async def scenario(watcher: SessionWatcher, told: Told) -> None:
        await told.until(watcher, frozenset())
        await asyncio.to_thread(make, tmux, "theirs", tmp_path)
        watcher.refresh()
        await told.until(watcher, frozenset({"theirs"}))
        clients = await asyncio.to_thread(tmux.run, "list-clients", "-F", "#{client_session}")
        assert clients == ""

    attended(tmux.server, scenario)

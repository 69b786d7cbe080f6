"""Waiting for what a screen means, and for what is not on it."""

import asyncio
from pathlib import Path

from posthouse.terminal import session
from posthouse.terminal.client import Server, Tmux
from posthouse.terminal.control import ControlClient
from posthouse.terminal.screen import Screen, Surface
from posthouse.terminal.screen_wait import ScreenWaiter
from posthouse.testing.waiting import LIMIT_SECONDS


def test_whoever_waits_looks_again_when_told_so(tmux_server: Server) -> None:
    """A silent pane is not looked at, until somebody says that something else has changed."""
    pane = session.create(Tmux(tmux_server), "gpu", working_directory=Path("/"), environment={})
    looks: list[str] = []
    reported: list[str] = []

    def judge(_screen: Screen, _surface: Surface) -> str | None:
        looks.append("look")
        return reported[0] if reported else None

    async def story() -> str | None:
        client = await ControlClient.attach(tmux_server, "gpu", output=True)
        watch = ScreenWaiter(client, pane.pane_id, lambda _: Surface(state="ready", evidence=("a test",)))
        waiting = asyncio.create_task(watch.until(judge, seconds=LIMIT_SECONDS))
        while not looks:
            await asyncio.sleep(0.01)
        reported.append("a hook reported in")
        watch.nudge()
        found = await waiting
        await client.close()
        return found

    assert asyncio.run(story()) == "a hook reported in"

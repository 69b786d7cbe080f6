"""What an adapter says of a TUI whose program was killed."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posthouse import agent
from posthouse.agent.adapter import AgentAdapter
from posthouse.terminal import session as terminal
from posthouse.testing.waiting import LIMIT_SECONDS

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any


def test_how_the_program_ended_is_found_out_every_time(house: House) -> None:
    """tmux with utempter misses the end of one program in about ten, and then runs no hook for its pane."""
    made = house.launch(headless=False)

    async def watch() -> list[str]:
        adapter = agent.for_session(made)
        await adapter.open(lambda: None)
        try:
            return [await _death(adapter) for _ in range(4)]
        finally:
            await adapter.close()

    async def _death(adapter: AgentAdapter) -> str:
        pane = await asyncio.to_thread(_restart)
        await _until(lambda: adapter.status.connectivity == "connected")
        os.kill(pane, signal.SIGKILL)
        await _until(lambda: adapter.status.connectivity == "unavailable")
        with_signal = "its program ended by signal 9"
        await _until(lambda: adapter.status.detail == with_signal)
        return adapter.status.detail

    def _restart() -> int:
        pane = terminal.agent_pane(made.tmux, made.tmux_session_name)
        argv = ["/bin/sh", "-c", "echo up; exec sleep 1000000"]
        return terminal.start_program(made.tmux, pane, argv, environment={}, working_directory=Path("/")).pid

    assert asyncio.run(watch()) == ["its program ended by signal 9"] * 4


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)

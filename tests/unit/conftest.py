"""What tests of several packages start from."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from posthouse.sessions.session import Session
from posthouse.testing import running_gateways


@pytest.fixture
def made_session(tmp_path: Path) -> Session:
    """A session folder without a terminal."""
    return running_gateways.session_in(tmp_path)


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Waits for a condition, with the loop running."""

    async def wait(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.005)

    return wait

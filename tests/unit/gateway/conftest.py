"""A gateway on a real queue in a folder of its own, around an agent that obeys the test."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from posthouse.gateway.service import Gateway
from posthouse.gateway.status import Binding
from posthouse.sessions.session import Session
from posthouse.testing import served
from posthouse.testing.gateway import FakeAgent

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]


@pytest.fixture
def made_session(tmp_path: Path) -> Session:
    """A session folder without a terminal."""
    return served.session_in(tmp_path)


@pytest.fixture
def opened(made_session: Session) -> Opener:
    """Opens the gateway of that session around the agent it is given; stops it at the end."""
    binding = Binding(host="127.0.0.1", port=43123)
    return lambda agent: served.opened(made_session, agent, binding)


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Waits for a condition, with the loop running."""

    async def wait(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.005)

    return wait

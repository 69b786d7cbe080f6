"""A gateway on a real queue in a folder of its own, around an agent that obeys the test."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from posthouse.contracts import manifest as m
from posthouse.gateway.files import Journal, Publisher, live_attach, running_log
from posthouse.gateway.service import Gateway
from posthouse.gateway.status import Binding
from posthouse.queue import open_queue
from posthouse.sessions import publication, session
from posthouse.sessions.session import Session
from posthouse.testing.gateway import FakeAgent

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]


@pytest.fixture
def made_session(tmp_path: Path) -> Session:
    """A session folder without a terminal."""
    root = tmp_path / "runtime" / "sessions" / "claude_headless" / "claude_headless-1"
    root.mkdir(parents=True)
    route = m.GatewayRoute()
    manifest = m.Manifest(
        schema_version=4,
        backend="claude_headless",
        tool="scripted",
        role_name="r",
        created_at_utc="2026-06-05T00:00:00+00:00",
        working_directory=str(tmp_path),
        brain_manifest_path="/b.yaml",
        agent_name="gpu",
        agent_id="gpu-id",
        tmux_session_name="HOUMAO-gpu-1",
        registry_generation_id="generation",
        runtime=m.Runtime(session_id="claude_headless-1", registry_generation_id="generation"),
        tmux=m.TmuxSurface(session_name="HOUMAO-gpu-1"),
        interactive=m.Interactive(),
        agent_launch_authority=m.AgentLaunchAuthority(
            backend="claude_headless", tool="scripted", working_directory=str(tmp_path)
        ),
        gateway_authority=m.GatewayAuthority(attach=route, control=route),
        launch_plan=m.LaunchPlan(
            backend="claude_headless",
            tool="scripted",
            executable="scripted",
            args=[],
            working_directory=str(tmp_path),
            home_selector=m.HomeSelector(env_var="H", home_path="/h"),
            env_var_names=[],
            role_injection=m.RoleInjection(method="bootstrap_message", role_name="r"),
            metadata={},
        ),
        backend_state={},
        headless=m.Headless(
            session_id=None, turn_index=0, role_bootstrap_applied=False, working_directory=str(tmp_path)
        ),
    )
    made = session.write(root, manifest)
    publication.seed(made)
    return made


@pytest.fixture
def opened(made_session: Session) -> Opener:
    """Opens the gateway of that session around the agent it is given; stops it at the end."""
    binding = Binding(host="127.0.0.1", port=43123)
    root = made_session.gateway_root

    @asynccontextmanager
    async def opener(agent: FakeAgent) -> AsyncIterator[Gateway]:
        log = running_log(root / "logs" / "gateway.log")
        attach = live_attach(made_session, binding)
        gateway = Gateway(
            attach=attach,
            binding=binding,
            queue=await open_queue(root / "queue.sqlite"),
            adapter=agent,
            journal=Journal(root / "events.jsonl"),
            publisher=Publisher(made_session, attach, binding, log),
            log=log,
        )
        await gateway.start()
        try:
            yield gateway
        finally:
            await gateway.stop()
            _close(log)

    return opener


def _close(log: logging.Logger) -> None:
    for handler in log.handlers:
        assert isinstance(handler, logging.StreamHandler)
        handler.stream.close()


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Waits for a condition, with the loop running."""

    async def wait(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.005)

    return wait

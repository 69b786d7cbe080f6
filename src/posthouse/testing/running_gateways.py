"""Whole gateways around an agent that obeys its test: opened in a loop, or listening on a real socket."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import manifest as m
from posthouse.events.journal import Journal
from posthouse.gateway.files import Publisher, live_attach
from posthouse.gateway.http import app
from posthouse.gateway.notifications.dispatcher import context_of
from posthouse.gateway.service import Gateway
from posthouse.gateway.status import Binding
from posthouse.queue import open_queue
from posthouse.sessions import publication
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support.process_log import close_log, open_log
from posthouse.testing.fake_mailbox import FakeMailbox
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.web import token
from posthouse.web.server import Server, bind


def is_at_rest(gateway: Gateway) -> bool:
    """Whether every request has its end, which is written a moment before it is told."""
    status = gateway.status()
    return (status.queue_depth, status.active_execution) == (0, "idle")


def session_in(folder: Path) -> Session:
    """A session below *folder*, without a terminal."""
    root = folder / "runtime" / "sessions" / "claude_headless" / "claude_headless-1"
    root.mkdir(parents=True)
    route = m.GatewayRoute()
    manifest = m.Manifest(
        schema_version=4,
        backend="claude_headless",
        tool="scripted",
        role_name="r",
        created_at_utc="2026-06-05T00:00:00+00:00",
        working_directory=str(folder),
        brain_manifest_path="/b.yaml",
        agent_name="gpu",
        agent_id="gpu-id",
        tmux_session_name="HOUMAO-gpu-1",
        registry_generation_id="generation",
        runtime=m.Runtime(session_id="claude_headless-1", registry_generation_id="generation"),
        tmux=m.TmuxSurface(session_name="HOUMAO-gpu-1"),
        interactive=m.Interactive(),
        agent_launch_authority=m.AgentLaunchAuthority(
            backend="claude_headless", tool="scripted", working_directory=str(folder)
        ),
        gateway_authority=m.GatewayAuthority(attach=route, control=route),
        launch_plan=m.LaunchPlan(
            backend="claude_headless",
            tool="scripted",
            executable="scripted",
            args=[],
            working_directory=str(folder),
            home_selector=m.HomeSelector(env_var="H", home_path="/h"),
            env_var_names=[],
            role_injection=m.RoleInjection(method="bootstrap_message", role_name="r"),
            metadata={},
        ),
        backend_state={},
        headless=m.Headless(
            session_id=None, turn_index=0, role_bootstrap_applied=False, working_directory=str(folder)
        ),
    )
    made = sessions.write(root, manifest)
    publication.seed(made)
    return made


@asynccontextmanager
async def opened(
    session: Session, agent: FakeAgent, binding: Binding, mailbox: FakeMailbox | None = None
) -> AsyncIterator[Gateway]:
    """The gateway of *session* around *agent*, stopped at the end. Its manifest says whether it has mail."""
    there = mailbox or FakeMailbox()
    root = session.gateway_root
    log = open_log(root / gf.LOG)
    attach = live_attach(session, binding)
    gateway = Gateway(
        attach=attach,
        binding=binding,
        queue=await open_queue(root / gf.QUEUE),
        adapter=agent,
        journal=Journal(root / gf.EVENTS),
        publisher=Publisher(session, attach, binding, log),
        log=log,
        notification_context=context_of(session),
        open_mailbox=lambda binding: there,
    )
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()
        close_log(log)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A gateway that listens."""

    port: int
    root: Path


@contextmanager
def serving(folder: Path, agent: Callable[[], FakeAgent], *, host: gf.Host = "127.0.0.1") -> Iterator[Served]:
    """A gateway on *host*, in a thread and a loop of its own as in its own process."""
    session = session_in(folder)
    listener = bind(host, 0)
    binding = Binding(host=host, port=listener.getsockname()[1])
    shown = None if host == "127.0.0.1" else token.load_or_create(session.gateway_root)
    is_up = threading.Event()
    stops: list[Callable[[], object]] = []

    async def serve() -> None:
        log = open_log(session.gateway_root / gf.LOG)
        async with opened(session, agent(), binding) as gateway:
            server = Server(app.build(gateway, shown), log, on_stop=gateway.operations.readers.stop)
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(lambda _, what: log.error("loop", exc_info=what.get("exception")))
            stops.append(lambda: loop.call_soon_threadsafe(server.stop))
            is_up.set()
            await server.listen(listener)
        close_log(log)

    thread = threading.Thread(target=uvloop.run, args=(serve(),), name="gateway")
    thread.start()
    try:
        if not is_up.wait(LIMIT_SECONDS):
            raise TimeoutError("the gateway did not start")
        yield Served(port=binding.port, root=session.gateway_root)
    finally:
        for stop in stops:
            stop()
        thread.join()

"""Entry point of the coordination server: serves until SIGTERM, Ctrl-C or a shutdown request.

As an entry point, this module reads the environment.
"""

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from posthouse.contracts import names
from posthouse.contracts import server_files as cf
from posthouse.errors import Conflict, PosthouseError
from posthouse.support import bounded_exit, clock, crashpoints, files, locks, process_log, system_errors
from posthouse.web.server import Server, bind

if TYPE_CHECKING:
    from posthouse.sessions.agents import Agents


#: Threads block on tmux and disks, not on the CPU: one that starts a turn may block for seconds.
_THREADS = 64
#: Limits of the whole shutdown, and of joining threads after it.
_STOP_SECONDS = 30.0
_JOIN_SECONDS = 2.0


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Serve until a stop is requested. Return 1, with the reason on stderr, if the server can't start."""
    given = _parse(arguments)
    crashpoints.arm(environment.get(names.CRASH_AT))
    try:
        servers = files.private_folder(given.runtime_root.resolve() / cf.SERVERS)
        with locks.hold(servers / cf.LOCK):
            _run(given, bind(given.host, given.port), servers, environment)
    except locks.LockHeld as held:
        message = f"process {held.holder} already serves {given.runtime_root}; stop it first"
        return _refuse(Conflict(message, code="already_served"))
    except PosthouseError as error:
        return _refuse(error)
    except OSError as error:
        if (refused := system_errors.translate(error)) is None:
            raise
        return _refuse(refused)
    return 0


def _refuse(error: PosthouseError) -> int:
    sys.stderr.write(f"server: {error}\n")
    return 1


def _run(
    given: argparse.Namespace, listener: socket.socket, servers: Path, environment: Mapping[str, str]
) -> None:
    import uvloop  # late: start-up errors need no event loop

    host, port = listener.getsockname()
    root = files.private_folder(servers / f"{host}-{port}")
    for folder in ("run", "logs"):
        files.private_folder(root / folder)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.get_loop().set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="server"))
        loop.run(_serve(_agents(given, environment), listener, root, environment))


def _agents(given: argparse.Namespace, environment: Mapping[str, str]) -> "Agents":
    """The agents of the given registry; new agents are launched with settings from *environment*."""
    from posthouse.gateway_lifecycle.session_hooks import GatewaySessionHooks
    from posthouse.sessions import roots
    from posthouse.sessions.agents import Agents
    from posthouse.sessions.registry import Registry
    from posthouse.terminal.client import Placement

    found = replace(
        roots.resolve(environment, Path.cwd()),
        registry=given.registry_root.resolve(),
        runtime=given.runtime_root.resolve(),
    )
    placement = Placement.parse(environment.get(names.TMUX_SOCKET, ""))
    return Agents(found, Registry(found.registry), placement, GatewaySessionHooks())


async def _serve(
    agents: "Agents", listener: socket.socket, root: Path, environment: Mapping[str, str]
) -> None:
    from posthouse.contracts.managed_agents_http import ServerInstance
    from posthouse.server import tracing_setup
    from posthouse.server.access import TokenAuthenticator
    from posthouse.server.http import app
    from posthouse.server.service import ServerService
    from posthouse.server.token_store import TokenStore

    on_terminal = [logging.StreamHandler(sys.stdout)] if sys.stdout.isatty() else []
    log = process_log.open_log(root / cf.LOG, *on_terminal)
    host, port = listener.getsockname()
    instance = ServerInstance(
        pid=os.getpid(),
        api_base_url=f"http://{host}:{port}",
        server_root=str(root),
        started_at_utc=clock.iso_seconds(clock.now()),
    )
    tracing = tracing_setup.configure_tracing(environment, log)
    coordination = ServerService(agents, instance, log, tracing)
    access = (
        None
        if host == "127.0.0.1"
        else TokenAuthenticator(TokenStore(root.parent / cf.TOKENS), log, coordination.background)
    )
    server = Server(app.build(coordination, access), log, on_stop=coordination.operations.event_readers.stop)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, coordination.stopping.set)
    await coordination.open()
    try:
        if access is not None:
            await access.open()
        files.write_json(root / cf.CURRENT_INSTANCE, instance.model_dump(), durable=False)
        log.info("server started", extra={"pid": instance.pid, "address": instance.api_base_url})
        serving = asyncio.create_task(server.listen(listener))
        await _first_of(serving, coordination.stopping)
        bounded_exit.end_within(_STOP_SECONDS)
        server.stop()
        await serving
    finally:
        await coordination.close()
        if access is not None:
            await access.close()
        await asyncio.to_thread(tracing.close)
        (root / cf.CURRENT_INSTANCE).unlink(missing_ok=True)
        log.info("server stopped", extra={"pid": instance.pid})
        process_log.close_log(log)
    bounded_exit.end_within(_JOIN_SECONDS, code=0)  # all state is on disk; only threads remain


async def _first_of(serving: "asyncio.Task[None]", stopping: asyncio.Event) -> None:
    """Return when a stop is requested or the server stops listening."""
    stop_requested = asyncio.create_task(stopping.wait())
    await asyncio.wait({serving, stop_requested}, return_when=asyncio.FIRST_COMPLETED)
    stop_requested.cancel()


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m posthouse.server", description="Serve all agents of a registry."
    )
    parser.add_argument("--registry-root", type=Path, required=True, help="registry of the agents to serve")
    parser.add_argument("--runtime-root", type=Path, required=True, help="folder for the server's files")
    parser.add_argument("--host", choices=("127.0.0.1", "0.0.0.0"), default="127.0.0.1")
    parser.add_argument("--port", type=int, default=cf.DEFAULT_PORT, help="0 selects a free port")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))

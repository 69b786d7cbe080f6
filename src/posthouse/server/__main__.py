"""The process of a coordination server: serves until SIGTERM, Ctrl-C or a call to shut down.

A process entry, so this module reads the environment.
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


#: Threads wait for tmux and for disks, not for the processor: one that starts a turn may wait for seconds.
_THREADS = 64
#: The whole shutdown, and the wait for threads after it.
_STOP_SECONDS = 30.0
_JOIN_SECONDS = 2.0


class AlreadyServed(Conflict):
    """Another server owns that runtime root; nothing was touched."""

    code = "already_served"


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Serve until told to stop. Exit code 1, with the reason on stderr, when that is impossible."""
    given = _parse(arguments)
    crashpoints.arm(environment.get(names.CRASH_AT))
    try:
        servers = files.private_folder(given.runtime_root.resolve() / cf.SERVERS)
        with locks.hold(servers / cf.LOCK):
            _run(given, bind(given.host, given.port), servers, environment)
    except locks.LockHeld as held:
        told = f"process {held.holder} already serves {given.runtime_root}; end it first"
        return _refuse(AlreadyServed(told))
    except PosthouseError as error:
        return _refuse(error)
    except OSError as error:
        if (refused := system_errors.translated(error)) is None:
            raise
        return _refuse(refused)
    return 0


def _refuse(error: PosthouseError) -> int:
    sys.stderr.write(f"server: {error}\n")
    return 1


def _run(
    given: argparse.Namespace, listener: socket.socket, servers: Path, environment: Mapping[str, str]
) -> None:
    import uvloop  # after the refusals, which need no loop

    host, port = listener.getsockname()
    root = files.private_folder(servers / f"{host}-{port}")
    for folder in ("run", "logs"):
        files.private_folder(root / folder)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.get_loop().set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="server"))
        loop.run(_serve(_agents(given, environment), listener, root, environment))


def _agents(given: argparse.Namespace, environment: Mapping[str, str]) -> "Agents":
    """The agents of the registry that was given; new ones start as the environment says."""
    from posthouse.gateway_lifecycle.session_hooks import Companions
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
    return Agents(found, Registry(found.registry), placement, Companions())


async def _serve(
    agents: "Agents", listener: socket.socket, root: Path, environment: Mapping[str, str]
) -> None:
    from posthouse.contracts.managed_agents_http import ServerInstance
    from posthouse.server import tracing_setup
    from posthouse.server.access import Access
    from posthouse.server.http import app
    from posthouse.server.service import Coordination
    from posthouse.server.token_store import Keyring

    on_terminal = [logging.StreamHandler(sys.stdout)] if sys.stdout.isatty() else []
    log = process_log.open_log(root / cf.LOG, *on_terminal)
    host, port = listener.getsockname()
    instance = ServerInstance(
        pid=os.getpid(),
        api_base_url=f"http://{host}:{port}",
        server_root=str(root),
        started_at_utc=clock.iso_seconds(clock.now()),
    )
    tracing = tracing_setup.tracing_of(environment, log)
    coordination = Coordination(agents, instance, log, tracing)
    access = (
        None
        if host == "127.0.0.1"
        else Access(Keyring(root.parent / cf.TOKENS), log, coordination.background)
    )
    server = Server(app.build(coordination, access), log, on_stop=coordination.operations.audience.end)
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
    bounded_exit.end_within(_JOIN_SECONDS, code=0)  # all state is safe: only threads are left to wait for


async def _first_of(serving: "asyncio.Task[None]", stopping: asyncio.Event) -> None:
    """Return when the server is to stop, or has stopped listening by itself."""
    told = asyncio.create_task(stopping.wait())
    await asyncio.wait({serving, told}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m posthouse.server", description="Serve all agents of a registry."
    )
    parser.add_argument("--registry-root", type=Path, required=True, help="whose agents")
    parser.add_argument("--runtime-root", type=Path, required=True, help="where the server's own files go")
    parser.add_argument("--host", choices=("127.0.0.1", "0.0.0.0"), default="127.0.0.1")
    parser.add_argument("--port", type=int, default=cf.DEFAULT_PORT, help="0: any free one")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))

"""The host process: serves the gateways in its registry until SIGTERM or Ctrl-C.

A process entry, so this module reads the environment.
"""

import argparse
import asyncio
import faulthandler
import importlib
import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from posthouse.contracts import gateway_host as gh
from posthouse.contracts import names
from posthouse.gateway.host import keeper
from posthouse.gateway_lifecycle import host_registry
from posthouse.support import bounded_exit, crashpoints, locks, process_log, system_errors
from posthouse.support.files import private_folder
from posthouse.support.supervision import Supervisor

#: A liveness check holds the lock for an instant, which must not make a starting host fail.
_LOCK_SECONDS = 1.0
#: Threads for the blocking calls of all gateways; one that hangs must not block the others.
_THREADS = 64
#: Limits of the whole shutdown, and of joining threads after it.
_STOP_SECONDS = 30.0
_JOIN_SECONDS = 2.0
#: Modules that gateways import lazily.
_GATEWAY_MODULES = ("posthouse.agent.headless", "posthouse.agent.tui")


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Serve until a stop signal. Exit code 1, with the reason on stderr, when another host runs."""
    options = _parse(arguments)
    crashpoints.arm(environment.get(names.CRASH_AT))
    runtime_root: Path = options.runtime_root.resolve()
    return supervise(runtime_root) if options.keep else serve(runtime_root)


def supervise(runtime_root: Path) -> int:
    """Run a host and restart it whenever it dies. Returns its last exit code."""
    _preload()
    return keeper.supervise(lambda heartbeat_fd: serve(runtime_root, heartbeat_fd))


def serve(runtime_root: Path, heartbeat_fd: int | None = None) -> int:
    """Run the host of *runtime_root* until a stop signal. Returns `REFUSED` when another process is the host.

    The heartbeat is written to *heartbeat_fd*; None without a keeper.
    """
    try:
        lock = private_folder(host_registry.folder_of(runtime_root)) / gh.LOCK
        with locks.hold(lock, wait_seconds=_LOCK_SECONDS):
            _run(runtime_root, heartbeat_fd)
    except locks.LockHeld as held:
        sys.stderr.write(f"gateway host: process {held.holder} is the host of {runtime_root} already\n")
        return keeper.REFUSED
    except OSError as error:
        if (refused := system_errors.translate(error)) is None:
            raise
        sys.stderr.write(f"gateway host: {refused}\n")
        return 1
    return 0


def _preload() -> None:
    """Import what a host needs before the fork, so that a restart is fast."""
    for module in ("uvloop", "posthouse.gateway.host.control", *_GATEWAY_MODULES):
        importlib.import_module(module)


def _run(runtime_root: Path, heartbeat_fd: int | None) -> None:
    import uvloop  # after the check for another host

    faulthandler.enable()  # a crash in native code ends all gateways: its log then has the stacks
    _allow_many_files()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.run(_serve(runtime_root, heartbeat_fd))


async def _serve(runtime_root: Path, heartbeat_fd: int | None) -> None:
    from posthouse.gateway import assembly
    from posthouse.gateway.host.control import ControlSocket, listen
    from posthouse.gateway.host.host import Host

    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="host"))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    log = process_log.open_log(
        host_registry.folder_of(runtime_root) / gh.LOG, on_rotate=assembly.redirect_output
    )
    background = Supervisor(log)
    if heartbeat_fd is not None:
        background.supervise("heartbeat", partial(keeper.beat, heartbeat_fd))
    host = Host(runtime_root, log)
    server = await ControlSocket(host, log).serve(listen(runtime_root))
    log.info("host started", extra={"pid": os.getpid()})
    resuming = background.supervise("taking up gateways", host.resume)
    await stopping.wait()
    bounded_exit.end_within(_STOP_SECONDS)
    server.close()
    resuming.cancel()
    await host.close()
    log.info("host stopped", extra={"pid": os.getpid()})
    await background.stop()
    process_log.close_log(log)
    bounded_exit.end_within(_JOIN_SECONDS, code=0)  # all state is written; only threads are left to join


def _allow_many_files() -> None:
    """Raise the limit of open files: a gateway needs a dozen, and each connection one more."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m posthouse.gateway.host", description="Serve many gateways in one process."
    )
    parser.add_argument(
        "--runtime-root", type=Path, required=True, help="the runtime root whose gateways it hosts"
    )
    parser.add_argument("--keep", action="store_true", help="restart the host whenever it dies")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))

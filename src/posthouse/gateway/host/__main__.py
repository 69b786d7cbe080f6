"""The process of a host: serves what is on its roll until SIGTERM or Ctrl-C.

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

#: Whoever only asks holds the lock for an instant, which must not turn a starting host away.
_LOCK_SECONDS = 1.0
#: Blocking calls of all gateways share these; one that hangs must not hold up the others.
_THREADS = 64
#: The whole shutdown, and the wait for threads after it.
_STOP_SECONDS = 30.0
_JOIN_SECONDS = 2.0
#: What gateways load only when they need it.
_GATEWAY_MODULES = ("posthouse.agent.headless", "posthouse.agent.tui")


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Serve until told to stop. Exit code 1, with the reason on stderr, when another host does."""
    given = _parse(arguments)
    crashpoints.arm(environment.get(names.CRASH_AT))
    runtime_root: Path = given.runtime_root.resolve()
    return keep(runtime_root) if given.keep else live(runtime_root)


def keep(runtime_root: Path) -> int:
    """Be the keeper of a host, which is started again whenever it dies; what its last life came to."""
    _load()
    return keeper.keep(lambda beats: live(runtime_root, beats))


def live(runtime_root: Path, beats: int | None = None) -> int:
    """Be the host of *runtime_root* until told to stop; `REFUSED` when another process is.

    *beats* is where its keeper hears its heartbeat; None without a keeper.
    """
    try:
        lock = private_folder(host_registry.folder_of(runtime_root)) / gh.LOCK
        with locks.hold(lock, wait_seconds=_LOCK_SECONDS):
            _run(runtime_root, beats)
    except locks.LockHeld as held:
        sys.stderr.write(f"gateway host: process {held.holder} is the host of {runtime_root} already\n")
        return keeper.REFUSED
    except OSError as error:
        if (refused := system_errors.translated(error)) is None:
            raise
        sys.stderr.write(f"gateway host: {refused}\n")
        return 1
    return 0


def _load() -> None:
    """Have loaded what a host needs, so that each of its lives begins with it."""
    for module in ("uvloop", "posthouse.gateway.host.control", *_GATEWAY_MODULES):
        importlib.import_module(module)


def _run(runtime_root: Path, beats: int | None) -> None:
    import uvloop  # after the refusal, which needs no loop

    faulthandler.enable()  # one process for all: when it is brought down from below, its log says where
    _allow_many_files()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.run(_serve(runtime_root, beats))


async def _serve(runtime_root: Path, beats: int | None) -> None:
    from posthouse.gateway import assembly
    from posthouse.gateway.host.control import Control, listen
    from posthouse.gateway.host.host import Host

    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="host"))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    log = process_log.open_log(host_registry.folder_of(runtime_root) / gh.LOG, on_rotate=assembly.move_output)
    background = Supervisor(log)
    if beats is not None:
        background.keep("heartbeat", partial(keeper.beat, beats))
    host = Host(runtime_root, log)
    server = await Control(host, log).serve(listen(runtime_root))
    log.info("host started", extra={"pid": os.getpid()})
    resuming = background.keep("taking up gateways", host.resume)
    await stopping.wait()
    bounded_exit.end_within(_STOP_SECONDS)
    server.close()
    resuming.cancel()
    await host.close()
    log.info("host stopped", extra={"pid": os.getpid()})
    await background.stop()
    process_log.close_log(log)
    bounded_exit.end_within(_JOIN_SECONDS, code=0)  # all state is safe: only threads are left to wait for


def _allow_many_files() -> None:
    """A gateway has a dozen files and sockets open, and every caller one more."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m posthouse.gateway.host", description="Serve many gateways in one process."
    )
    parser.add_argument("--runtime-root", type=Path, required=True, help="whose sessions' gateways")
    parser.add_argument("--keep", action="store_true", help="start the host again whenever it dies")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))

"""The coordination server of a runtime root: is one there, start one in the background, end it."""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from posthouse.cli.wiring import Wiring
from posthouse.clients.server.responses import Instance
from posthouse.contracts import server_files as cf
from posthouse.contracts import strict
from posthouse.errors import Unavailable
from posthouse.support import files, locks, untrusted_files

_START_SECONDS = 60.0
_END_SECONDS = 60.0
_LOOK_SECONDS = 0.02
_MAX_LAST_WORDS = 500


class ServerNotStarted(Unavailable):
    """The server ended before it listened; the message has its last words."""

    code = "server_not_started"


class ServerStays(Unavailable):
    """The server was told to end, and did not."""

    code = "server_stays"


def running(runtime_root: Path) -> Instance | None:
    """The live server that owns *runtime_root*, or None. Asks nobody: its lock says whether it lives."""
    servers = runtime_root / cf.SERVERS
    pid = locks.holder(servers / cf.LOCK)
    if pid is None:
        return None
    for path in servers.glob(f"*/{cf.CURRENT_INSTANCE}"):
        try:
            instance = strict.decode(untrusted_files.read_own_bytes(path), Instance)
        except (OSError, ValueError):  # left by another one, or just being written
            continue
        if instance.pid == pid:
            return instance
    return None


def command(wiring: Wiring, runtime_root: Path, *, host: str, port: int) -> list[str]:
    """The command that serves the registry of *wiring*."""
    words = {
        "--registry-root": wiring.roots.registry,
        "--runtime-root": runtime_root,
        "--host": host,
        "--port": port,
    }
    return [
        sys.executable,
        "-m",
        "posthouse.server",
        *(str(word) for pair in words.items() for word in pair),
    ]


def ensure(wiring: Wiring, *, ports: Sequence[int]) -> Instance:
    """The live server of this runtime root; without one, it is started on the first of *ports* that is free.

    It outlives whoever started it.

    Raises:
        ServerNotStarted: None of the ports could be had, or something else is wrong.
    """
    there = running(wiring.roots.runtime)
    if there is not None:
        return there
    problem: ServerNotStarted | None = None
    for port in ports:
        try:
            return _start(wiring, port)
        except ServerNotStarted as error:
            problem = error
    raise problem or ServerNotStarted("no port was given")


def end(runtime_root: Path) -> bool:
    """End the server that owns *runtime_root*. False: there is none.

    Raises:
        ServerStays: It does not end.
    """
    lock = runtime_root / cf.SERVERS / cf.LOCK
    pid = locks.signal_holder(lock, signal.SIGTERM)
    if pid is None:
        return False
    deadline = time.monotonic() + _END_SECONDS
    while locks.holder(lock) == pid:
        if time.monotonic() > deadline:
            raise ServerStays(f"the server, process {pid}, does not end")
        time.sleep(_LOOK_SECONDS)
    return True


def _start(wiring: Wiring, port: int) -> Instance:
    root = wiring.roots.runtime
    said = files.private_folder(root / cf.SERVERS) / "start.log"
    argv = command(wiring, root, host="127.0.0.1", port=port)
    with open(untrusted_files.open_output(said, is_new=True), "wb") as log:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C in this terminal is not meant for it
            env=dict(wiring.environment),
        )
    deadline = time.monotonic() + _START_SECONDS
    while (there := running(root)) is None or there.pid != process.pid:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            words = (
                untrusted_files.read_tail(said, max_bytes=_MAX_LAST_WORDS)[1].decode(errors="replace").strip()
            )
            raise ServerNotStarted(f"the coordination server did not start: {words or 'it said nothing'}")
        time.sleep(_LOOK_SECONDS)
    return there

"""The coordination server of a runtime root: find it, start it in the background, stop it."""

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
_POLL_SECONDS = 0.02
_MAX_LOG_TAIL_BYTES = 500


class ServerNotStarted(Unavailable):
    """The server ended before it listened; the message has the end of its log."""

    code = "server_not_started"


def running(runtime_root: Path) -> Instance | None:
    """The live server that owns *runtime_root*, or None. Checks its lock, without a request."""
    servers = runtime_root / cf.SERVERS
    pid = locks.holder(servers / cf.LOCK)
    if pid is None:
        return None
    for path in servers.glob(f"*/{cf.CURRENT_INSTANCE}"):
        try:
            instance = strict.decode(untrusted_files.read_own_bytes(path), Instance)
        except (OSError, ValueError):  # left by an earlier server, or being written
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
    """The live server of this runtime root; if there is none, start it on the first free port of *ports*.

    It outlives the process that started it.

    Raises:
        ServerNotStarted: No port was free, or the server failed otherwise.
    """
    instance = running(wiring.roots.runtime)
    if instance is not None:
        return instance
    problem: ServerNotStarted | None = None
    for port in ports:
        try:
            return _start(wiring, port)
        except ServerNotStarted as error:
            problem = error
    raise problem or ServerNotStarted("no port was given")


def stop(runtime_root: Path) -> bool:
    """Stop the server that owns *runtime_root*. False: there is none.

    Raises:
        Unavailable: It does not stop within a minute.
    """
    lock = runtime_root / cf.SERVERS / cf.LOCK
    pid = locks.signal_holder(lock, signal.SIGTERM)
    if pid is None:
        return False
    deadline = time.monotonic() + _END_SECONDS
    while locks.holder(lock) == pid:
        if time.monotonic() > deadline:
            raise Unavailable(f"the server (process {pid}) does not stop", code="server_stays")
        time.sleep(_POLL_SECONDS)
    return True


def _start(wiring: Wiring, port: int) -> Instance:
    root = wiring.roots.runtime
    log_path = files.private_folder(root / cf.SERVERS) / "start.log"
    argv = command(wiring, root, host="127.0.0.1", port=port)
    with open(untrusted_files.open_output(log_path, is_new=True), "wb") as log:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in this terminal does not stop it
            env=dict(wiring.environment),
        )
    deadline = time.monotonic() + _START_SECONDS
    while (instance := running(root)) is None or instance.pid != process.pid:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            words = (
                untrusted_files.read_tail(log_path, max_bytes=_MAX_LOG_TAIL_BYTES)[1]
                .decode(errors="replace")
                .strip()
            )
            raise ServerNotStarted(f"the coordination server did not start: {words or 'no output'}")
        time.sleep(_POLL_SECONDS)
    return instance

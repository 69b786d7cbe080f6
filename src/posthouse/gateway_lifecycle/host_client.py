"""Client of the gateway host for attach, detach and the command line. Import-light."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from posthouse.contracts import gateway_host as gh
from posthouse.contracts import strict
from posthouse.errors import Unavailable
from posthouse.gateway_lifecycle import host_registry
from posthouse.support import files, locks, untrusted_files

_START_SECONDS = 60.0
_ANSWER_SECONDS = 60.0
_POLL_SECONDS = 0.05
#: Of a log, for a message.
_TAIL_BYTES = 64 << 10


class HostUnresponsive(Unavailable):
    """The host is alive but does not answer; the effect of the request is unknown."""

    code = "host_silent"


def pid_of(runtime_root: Path) -> int | None:
    """The pid of the live host of *runtime_root*, or None."""
    return locks.holder(host_registry.folder_of(runtime_root) / gh.LOCK)


def adopt(runtime_root: Path, entry: gh.HostRegistryEntry, environment: Mapping[str, str]) -> None:
    """Serve *entry* in the host, which is started if needed.

    Raises:
        HostUnresponsive: The effect is unknown.
        Unavailable: It is not served (`host_failed`, `host_refused`).
    """
    ensure(runtime_root, environment)
    request(runtime_root, gh.HostRequest(ask="adopt", seat=entry))


def release(runtime_root: Path, gateway_root: Path) -> None:
    """Remove a gateway from the host, even if the host is not running. A no-op for an unlisted gateway.

    Raises:
        HostUnresponsive, Unavailable: It may still be served.
    """
    if not host_registry.is_listed(runtime_root, gateway_root):
        return
    try:
        with locks.hold(host_registry.folder_of(runtime_root) / gh.LOCK):
            host_registry.remove(runtime_root, str(gateway_root))
    except locks.LockHeld:
        request(
            runtime_root,
            gh.HostRequest(ask="release", seat=gh.HostRegistryEntry(gateway_root=str(gateway_root))),
        )


def listing(runtime_root: Path) -> gh.HostResponse | None:
    """The live host and its gateways; None without a host."""
    if pid_of(runtime_root) is None:
        return None
    return request(runtime_root, gh.HostRequest(ask="list"))


def request(runtime_root: Path, question: gh.HostRequest) -> gh.HostResponse:
    """Send *question* to the live host and return its answer.

    Raises:
        HostUnresponsive: No answer, or an invalid one.
        Unavailable: The host refused (`host_refused`).
    """
    try:
        answer = strict.decode(_exchange(host_registry.folder_of(runtime_root), question), gh.HostResponse)
    except (OSError, ValueError) as error:
        raise HostUnresponsive(
            f"the gateway host of {runtime_root} (process {pid_of(runtime_root)}) does not answer: {error}; "
            "if it is stuck, kill it: it restarts with its gateways"
        ) from error
    if answer.code is not None:
        raise Unavailable(f"the gateway host refused: {answer.message}", code="host_refused")
    return answer


def ensure(runtime_root: Path, environment: Mapping[str, str]) -> None:
    """Start the host of *runtime_root* if needed, and return when it answers.

    Raises:
        Unavailable: It did not start; the message has the end of its log (`host_failed`).
    """
    folder = files.private_folder(host_registry.folder_of(runtime_root))
    started = None
    deadline = time.monotonic() + _START_SECONDS
    while not _is_responsive(runtime_root):
        if started is None and pid_of(runtime_root) is None:
            started = _start(folder / gh.LOG, command(runtime_root), environment)
        has_ended = started is not None and started.poll() is not None and pid_of(runtime_root) is None
        if has_ended or time.monotonic() > deadline:
            raise Unavailable(
                f"the gateway host of {runtime_root} did not start: {_tail(folder / gh.LOG)}",
                code="host_failed",
            )
        time.sleep(_POLL_SECONDS)
    if started is not None:
        started.returncode = 0  # it outlives us; prevents Python's ResourceWarning


def command(runtime_root: Path) -> list[str]:
    """The command of a host that restarts after a crash."""
    return [sys.executable, "-m", "posthouse.gateway.host", "--runtime-root", str(runtime_root), "--keep"]


def _is_responsive(runtime_root: Path) -> bool:
    if pid_of(runtime_root) is None:
        return False
    try:
        request(runtime_root, gh.HostRequest(ask="list"))
    except HostUnresponsive:
        return False
    return True


@contextmanager
def socket_path(folder: Path) -> Iterator[str]:
    """A short path of the host's socket at *folder*: socket paths are limited to 107 bytes."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{gh.SOCKET}"
    finally:
        os.close(descriptor)


def _exchange(folder: Path, question: gh.HostRequest) -> bytes:
    with socket_path(folder) as path, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_ANSWER_SECONDS)
        connection.connect(path)
        connection.sendall(msgspec.json.encode(question) + b"\n")
        with connection.makefile("rb") as answer:
            return answer.readline(gh.MAX_LINE_BYTES)


def _start(log: Path, argv: list[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    with open(untrusted_files.open_output(log), "ab") as output:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(environment),
            cwd=log.parent,
            start_new_session=True,
        )


def _tail(log: Path) -> str:
    _, tail = untrusted_files.read_tail(log, max_bytes=_TAIL_BYTES)
    lines = tail.decode(errors="replace").splitlines()[-5:]
    return "\n".join(lines) or "its log is empty"

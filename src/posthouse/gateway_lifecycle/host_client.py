"""Asking a host: what attach, detach and the command line need of it. On the way of the command line."""

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


class HostSilent(Unavailable):
    """The host lives and does not answer; nothing is known to have changed."""

    code = "host_silent"


class HostRefused(Unavailable):
    """The host did not do what was asked."""

    code = "host_refused"


class HostFailed(Unavailable):
    """No host could be started."""

    code = "host_failed"


def pid_of(runtime_root: Path) -> int | None:
    """The process of the live host of *runtime_root*, or None."""
    return locks.holder(host_registry.folder_of(runtime_root) / gh.LOCK)


def adopt(runtime_root: Path, seat: gh.Seat, environment: Mapping[str, str]) -> None:
    """Have *seat* served in the host, which is started if there is none.

    Raises:
        HostFailed, HostSilent, HostRefused: It is not served; the message says why.
    """
    ensure(runtime_root, environment)
    ask(runtime_root, gh.Question(ask="adopt", seat=seat))


def release(runtime_root: Path, gateway_root: Path) -> None:
    """Have the host serve a gateway no more, whether it lives or not. Harmless for any other gateway.

    Raises:
        HostSilent, HostRefused: It may still be served.
    """
    if not host_registry.is_listed(runtime_root, gateway_root):
        return
    try:
        with locks.hold(host_registry.folder_of(runtime_root) / gh.LOCK):
            host_registry.remove(runtime_root, str(gateway_root))
    except locks.LockHeld:
        ask(runtime_root, gh.Question(ask="release", seat=gh.Seat(gateway_root=str(gateway_root))))


def listing(runtime_root: Path) -> gh.Answer | None:
    """The live host and what it serves; None when there is none."""
    if pid_of(runtime_root) is None:
        return None
    return ask(runtime_root, gh.Question(ask="list"))


def ask(runtime_root: Path, question: gh.Question) -> gh.Answer:
    """What the live host answers.

    Raises:
        HostSilent: Nothing, or nothing that can be read.
        HostRefused: That it did not do it.
    """
    try:
        answer = strict.decode(_exchange(host_registry.folder_of(runtime_root), question), gh.Answer)
    except (OSError, ValueError) as error:
        raise HostSilent(
            f"the gateway host of {runtime_root} (process {pid_of(runtime_root)}) does not answer: {error}; "
            "when it is stuck, kill it: it takes its gateways up again"
        ) from error
    if answer.code is not None:
        raise HostRefused(f"the gateway host refused: {answer.message}")
    return answer


def ensure(runtime_root: Path, environment: Mapping[str, str]) -> None:
    """Return when a host of *runtime_root* answers; one that died is started again.

    Raises:
        HostFailed: None comes up; the message has the end of its log.
    """
    folder = files.private_folder(host_registry.folder_of(runtime_root))
    started = None
    deadline = time.monotonic() + _START_SECONDS
    while not _answers(runtime_root):
        if started is None and pid_of(runtime_root) is None:
            started = _start(folder / gh.LOG, command(runtime_root), environment)
        has_ended = started is not None and started.poll() is not None and pid_of(runtime_root) is None
        if has_ended or time.monotonic() > deadline:
            raise HostFailed(f"the gateway host of {runtime_root} does not come up: {_tail(folder / gh.LOG)}")
        time.sleep(_POLL_SECONDS)
    if started is not None:
        started.returncode = 0  # it outlives us; this keeps Python from warning that nobody waits for it


def command(runtime_root: Path) -> list[str]:
    """The command of a host that is started again whenever it dies."""
    return [sys.executable, "-m", "posthouse.gateway.host", "--runtime-root", str(runtime_root), "--keep"]


def _answers(runtime_root: Path) -> bool:
    if pid_of(runtime_root) is None:
        return False
    try:
        ask(runtime_root, gh.Question(ask="list"))
    except HostSilent:
        return False
    return True


@contextmanager
def socket_path(folder: Path) -> Iterator[str]:
    """The socket of the host at *folder*, under a name that fits: a socket's path has room for 107 bytes."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{gh.SOCKET}"
    finally:
        os.close(descriptor)


def _exchange(folder: Path, question: gh.Question) -> bytes:
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
    return "\n".join(lines) or "it said nothing"

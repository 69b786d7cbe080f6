"""Starts the program of a turn in two steps, so that it runs only after its pid is on disk."""

import os
import signal
from dataclasses import dataclass

from posthouse.contracts import names
from posthouse.support.processes import Process, identify
from posthouse.turns.folder import Folder
from posthouse.turns.turn_order import Order

_CANNOT_START = 127
_RESTORED_SIGNALS = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A forked process that waits, in its own session, before it executes the program.

    It executes the program on `release`. If its parent dies before that, it exits without running anything.
    """

    process: Process
    _release_fd: int

    def release(self) -> None:
        os.write(self._release_fd, b"g")
        os.close(self._release_fd)

    def discard(self) -> None:
        """End it without running anything."""
        os.close(self._release_fd)
        self.reap()

    def reap(self) -> int:
        """Wait for its end. Returns the exit code, or the negative number of the signal that killed it."""
        return os.waitstatus_to_exitcode(os.waitpid(self.process.pid, 0)[1])


def fork(order: Order, folder: Folder) -> Child:
    """Make the child. Its output goes directly to the turn's files, without a relaying process."""
    wait_for_release, go = os.pipe()
    is_ready, ready = os.pipe()
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    stdin = os.open(folder.prompt if folder.prompt.exists() else os.devnull, os.O_RDONLY)
    stdout = os.open(folder.stdout, append, 0o600)
    stderr = os.open(folder.stderr, append, 0o600)
    pid = os.fork()
    if pid == 0:
        os.close(go)
        _wait_and_execute(order, (stdin, stdout, stderr), ready, wait_for_release)
    for descriptor in (wait_for_release, ready, stdin, stdout, stderr):
        os.close(descriptor)
    os.read(is_ready, 1)  # from here on its process group exists
    os.close(is_ready)
    process = identify(pid)
    if process is None:
        raise ProcessLookupError(f"process {pid} vanished before it was started")
    return Child(process=process, _release_fd=go)


def _wait_and_execute(order: Order, streams: tuple[int, int, int], ready: int, wait_for_release: int) -> None:
    """Wait for `release`, then execute the program. Never returns."""
    try:
        os.setsid()
        for target, source in enumerate(streams):
            os.dup2(source, target)
        os.write(ready, b"r")
        if os.read(wait_for_release, 1):
            _execute(order)
    except (OSError, ValueError) as error:
        os.write(2, f"posthouse: cannot start {order.argv[0]}: {error}\n".encode())
    finally:
        os._exit(_CANNOT_START)


def _execute(order: Order) -> None:
    # Python ignores the first two, and a starter may have ignored the others; programs expect them to work.
    for number in _RESTORED_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    os.chdir(order.working_directory)
    environment = {**os.environ, **order.environment, names.TURN_ID: order.turn_id}
    os.execvpe(order.argv[0], order.argv, environment)

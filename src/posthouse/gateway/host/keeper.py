"""Restarts a host whenever it dies, until it exits by itself or is stopped.

Each run of the host is a fork of the keeper, which has everything imported already, so a restart does not
pay for Python's startup. The event loop and the threads of the host together write a heartbeat into a pipe;
a host that hangs is killed and restarted.
"""

import asyncio
import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from posthouse.support import crashpoints

#: Exit code of a host that refused to start; a retry would be refused as well.
REFUSED = 1
#: Exit code after an exception, whose traceback is in the log.
_CRASHED = 70
#: After a run this long the backoff starts again: the next start is immediate.
_STABLE_SECONDS = 10.0
_FIRST_DELAY_SECONDS = 0.5
_MAX_DELAY_SECONDS = 30.0
_BEAT_SECONDS = 15.0
#: Many heartbeats, so that a busy or swapping machine does not get its host killed.
_HEARTBEAT_TIMEOUT_SECONDS = 120.0
#: Time for a killed host to write its stacks.
_TRACEBACK_SECONDS = 5.0


def supervise(
    serve: Callable[[int], int], *, heartbeat_timeout_seconds: float = _HEARTBEAT_TIMEOUT_SECONDS
) -> int:
    """Run *serve* in a child process until it exits with 0 or `REFUSED`, which is returned.

    *serve* receives the descriptor for `beat`; without a heartbeat for *heartbeat_timeout_seconds* it is
    killed. Whenever it is killed or fails, it is restarted: at once after a run of 10 s, otherwise with
    backoff (0.5, 1, 2 … 30 s). SIGTERM and Ctrl-C are forwarded and end it.
    """
    delay = 0.0
    while True:
        started_at = time.monotonic()
        code, is_stopping = _run_once(serve, heartbeat_timeout_seconds)
        if is_stopping or code in (0, REFUSED):
            return max(code, 0)
        # A crash test crashes the first run only and examines the next.
        crashpoints.arm(None)
        delay = 0.0 if time.monotonic() - started_at > _STABLE_SECONDS else delay
        sys.stderr.write(f"gateway host: exited with {code}; restart in {delay:g} s\n")
        time.sleep(delay)
        delay = min(max(delay * 2, _FIRST_DELAY_SECONDS), _MAX_DELAY_SECONDS)


async def beat(descriptor: int, *, every_seconds: float = _BEAT_SECONDS) -> None:
    """Write heartbeats while the event loop and the default executor of this process work."""
    while True:
        await asyncio.to_thread(int)
        with contextlib.suppress(BlockingIOError):  # the pipe is full
            try:
                os.write(descriptor, b".")
            except BrokenPipeError:
                return  # the keeper was killed; the host continues without it
        await asyncio.sleep(every_seconds)


def _run_once(serve: Callable[[int], int], timeout_seconds: float) -> tuple[int, bool]:
    """One run: its exit code (below 0: the signal that killed it), and whether a stop was requested."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _run_child(lambda: serve(write_end))
    os.close(write_end)
    process = os.pidfd_open(pid)
    is_stopping = False

    def forward(number: int, _frame: FrameType | None) -> None:
        nonlocal is_stopping
        is_stopping = True
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            signal.pidfd_send_signal(process, signal.SIGTERM)

    previous = {number: signal.signal(number, forward) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        status = _wait_for_end(pid, process, read_end, timeout_seconds)
    finally:
        os.close(read_end)
        for number, handler in previous.items():
            signal.signal(number, handler)
        os.close(process)
    return os.waitstatus_to_exitcode(status), is_stopping


def _wait_for_end(pid: int, process: int, read_end: int, timeout_seconds: float) -> int:
    """Wait for the end of *pid*, whose pidfd is *process*; kill it after a heartbeat timeout.

    Returns its wait status.
    """
    last_beat_at, watched = time.monotonic(), [process, read_end]
    while True:
        left = last_beat_at + timeout_seconds - time.monotonic()
        ready, _, _ = select.select(watched, [], [], max(0.0, left))
        if process in ready:
            break
        if not ready:
            sys.stderr.write(
                f"gateway host: no heartbeat for {timeout_seconds:g} s; process {pid} is killed\n"
            )
            _kill(process)
            break
        if os.read(read_end, 4096):
            last_beat_at = time.monotonic()
        else:
            watched = [process]  # it closed the pipe and should exit soon
    return os.waitpid(pid, 0)[1]


def _kill(process: int) -> None:
    """Kill *process*, first with SIGABRT, on which it writes the stacks of its threads into its log."""
    signal.pidfd_send_signal(process, signal.SIGABRT)
    if not select.select([process], [], [], _TRACEBACK_SECONDS)[0]:
        signal.pidfd_send_signal(process, signal.SIGKILL)


def _run_child(serve: Callable[[], int]) -> None:
    """Run *serve* in the forked child and exit, without running code of the keeper."""
    code = _CRASHED
    try:
        code = serve()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)

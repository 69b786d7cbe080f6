"""Starts a host again whenever it dies, until it ends by itself or is told to.

Each life of the host is a fork of the keeper, which has everything loaded already: a host that died serves
again in the time that its gateways need, and not in that of Python's start. Its event loop and its threads
together write a heartbeat into a pipe; a host that hangs is killed and started again.
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

#: A host that refused to start, as its exit code says; another attempt would be refused as well.
REFUSED = 1
#: What a life ends with that raised, after its traceback.
_CRASHED = 70
#: One that lived so long did not die of its start: the next one is started at once.
_LONG_SECONDS = 10.0
_FIRST_DELAY_SECONDS = 0.5
_LAST_DELAY_SECONDS = 30.0
_BEAT_SECONDS = 15.0
#: Many beats: a machine that is busy, or swaps, is no reason to kill anything.
_SILENT_SECONDS = 120.0
#: How long a killed host may take to write where it hangs.
_TRACEBACK_SECONDS = 5.0


def keep(live: Callable[[int], int], *, silent_seconds: float = _SILENT_SECONDS) -> int:
    """Run *live* in a process of its own until that ends with 0 or `REFUSED`, which is returned.

    *live* is given the descriptor for `beat`; without a beat for *silent_seconds* it is killed.
    Whenever it is killed or fails, it is started again: at once after a long life, after 0.5, 1, 2 … 30 s
    otherwise. SIGTERM and Ctrl-C are passed on, and end it.
    """
    delay = 0.0
    while True:
        begun = time.monotonic()
        code, is_told_to_end = _live(live, silent_seconds)
        if is_told_to_end or code in (0, REFUSED):
            return max(code, 0)
        # The fuse of a crash test is for the first life; the next is the one that is looked at.
        crashpoints.arm(None)
        delay = 0.0 if time.monotonic() - begun > _LONG_SECONDS else delay
        sys.stderr.write(f"gateway host: it died ({code}); it is started again in {delay:g} s\n")
        time.sleep(delay)
        delay = min(max(delay * 2, _FIRST_DELAY_SECONDS), _LAST_DELAY_SECONDS)


async def beat(descriptor: int, *, every_seconds: float = _BEAT_SECONDS) -> None:
    """Say again and again that the event loop and the default executor of this process work."""
    while True:
        await asyncio.to_thread(int)
        with contextlib.suppress(BlockingIOError):  # the keeper has much to read already
            try:
                os.write(descriptor, b".")
            except BrokenPipeError:
                return  # the keeper was killed; the host goes on alone
        await asyncio.sleep(every_seconds)


def _live(live: Callable[[int], int], silent_seconds: float) -> tuple[int, bool]:
    """One life: how it ended (below 0: the signal that killed it), and whether we were told to end it."""
    hears, beats = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    pid = os.fork()
    if pid == 0:
        os.close(hears)
        _become(lambda: live(beats))
    os.close(beats)
    process = os.pidfd_open(pid)
    told = False

    def pass_on(number: int, _frame: FrameType | None) -> None:
        nonlocal told
        told = True
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            signal.pidfd_send_signal(process, signal.SIGTERM)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        status = _ended(pid, process, hears, silent_seconds)
    finally:
        os.close(hears)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(process)
    return os.waitstatus_to_exitcode(status), told


def _ended(pid: int, process: int, hears: int, silent_seconds: float) -> int:
    """Wait for the end of *pid*, which *process* is the pidfd of; kill it when it is silent for too long.

    Returns its status.
    """
    heard_at, watched = time.monotonic(), [process, hears]
    while True:
        left = heard_at + silent_seconds - time.monotonic()
        ready, _, _ = select.select(watched, [], [], max(0.0, left))
        if process in ready:
            break
        if not ready:
            sys.stderr.write(
                f"gateway host: no heartbeat for {silent_seconds:g} s; process {pid} is killed\n"
            )
            _kill(process)
            break
        if os.read(hears, 4096):
            heard_at = time.monotonic()
        else:
            watched = [process]  # it closed its end, and should end soon
    return os.waitpid(pid, 0)[1]


def _kill(process: int) -> None:
    """End *process*, first by the signal at which it writes the stacks of its threads into its log."""
    signal.pidfd_send_signal(process, signal.SIGABRT)
    if not select.select([process], [], [], _TRACEBACK_SECONDS)[0]:
        signal.pidfd_send_signal(process, signal.SIGKILL)


def _become(live: Callable[[], int]) -> None:
    """Be the life, and end with it; nothing of the keeper is run in it."""
    code = _CRASHED
    try:
        code = live()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)

"""Starts a host again whenever it dies, until it ends by itself or is told to.

Each life of the host is a fork of the keeper, which has everything loaded already: a host that died serves
again in the time that its gateways need, and not in that of Python's start.
"""

import os
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


def keep(live: Callable[[], int]) -> int:
    """Run *live* in a process of its own until that ends with 0 or `REFUSED`, which is returned.

    Whenever it is killed or fails, it is started again: at once after a long life, after 0.5, 1, 2 … 30 s
    otherwise. SIGTERM and Ctrl-C are passed on, and end it.
    """
    delay = 0.0
    while True:
        begun = time.monotonic()
        code, is_told_to_end = _live(live)
        if is_told_to_end or code in (0, REFUSED):
            return max(code, 0)
        # The fuse of a crash test is for the first life; the next is the one that is looked at.
        crashpoints.arm(None)
        delay = 0.0 if time.monotonic() - begun > _LONG_SECONDS else delay
        sys.stderr.write(f"gateway host: it died ({code}); it is started again in {delay:g} s\n")
        time.sleep(delay)
        delay = min(max(delay * 2, _FIRST_DELAY_SECONDS), _LAST_DELAY_SECONDS)


def _live(live: Callable[[], int]) -> tuple[int, bool]:
    """One life: how it ended (below 0: the signal that killed it), and whether we were told to end it."""
    pid = os.fork()
    if pid == 0:
        _become(live)
    told = False

    def pass_on(number: int, _frame: FrameType | None) -> None:
        nonlocal told
        told = True
        os.kill(pid, signal.SIGTERM)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        _, status = os.waitpid(pid, 0)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return os.waitstatus_to_exitcode(status), told


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

"""Which process serves a gateway root. The kernel says so: it holds the lock of that root."""

import contextlib
import os
import signal
from pathlib import Path

from posthouse.support import locks, processes

LOCK = "run/gateway.lock"
#: Whoever only asks holds the lock for an instant, which must not turn a starting gateway away.
LOCK_WAIT_SECONDS = 1.0
_TERM_SECONDS = 5.0
_KILL_SECONDS = 2.0


def holder_of(gateway_root: Path) -> int | None:
    """The pid of the live gateway, or None. A pid that was used again is never taken for one."""
    return locks.holder(gateway_root / LOCK)


def end(gateway_root: Path) -> int | None:
    """End the live gateway: SIGTERM, after 5 s SIGKILL. Its pid, or None when there was none."""
    opened = locks.open_holder(gateway_root / LOCK)
    if opened is None:
        return None
    pid, descriptor = opened
    try:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
            if not processes.wait_ended(descriptor, seconds=_TERM_SECONDS):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                processes.wait_ended(descriptor, seconds=_KILL_SECONDS)
    finally:
        os.close(descriptor)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # when it was our own child, nothing else would reap it
    return pid

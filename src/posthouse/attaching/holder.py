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
    pid = holder_of(gateway_root)
    if pid is None:
        return None
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    try:
        # Asked again: from here on the descriptor stands for that very process, whatever happens to its pid.
        if holder_of(gateway_root) != pid:
            return None
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        if not processes.wait_exit(pid, seconds=_TERM_SECONDS):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            processes.wait_exit(pid, seconds=_KILL_SECONDS)
    finally:
        os.close(descriptor)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # when it was our own child, nobody else would
    return pid

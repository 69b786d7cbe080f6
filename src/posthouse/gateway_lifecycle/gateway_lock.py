"""The process that serves a gateway root: the holder of the root's file lock."""

import contextlib
import os
import signal
from pathlib import Path

from posthouse.support import locks, processes

LOCK = "run/gateway.lock"
#: A query holds the lock briefly; a starting gateway must outwait it.
LOCK_WAIT_SECONDS = 1.0
_TERM_SECONDS = 5.0
_KILL_SECONDS = 2.0


def holder_of(gateway_root: Path) -> int | None:
    """The pid of the live gateway, or None. Safe against pid reuse."""
    return locks.holder(gateway_root / LOCK)


def end(gateway_root: Path) -> int | None:
    """End the live gateway: SIGTERM, after 5 s SIGKILL. Returns its pid, or None without one."""
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
        os.waitpid(pid, os.WNOHANG)  # reaps it if it was our child
    return pid

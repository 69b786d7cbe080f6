"""Named crash points at which a test can kill the process, to check what is left on disk.

Every durable step calls `reach`. Unarmed, that is one comparison. A fuse is one of

    7                 the 7th step, whatever it is called: a test arms 1, 2, 3 … until the command survives
    queue commit#2    the 2nd step of that name
    >FILE             no kill: the name of every step becomes a line of FILE
"""

import os
import signal
from collections.abc import Callable

#: Called with the name of each step; returns True when the process must die there. None: unarmed.
_fuse: Callable[[str], bool] | None = None


def arm(fuse: str | None) -> None:
    """Kill this process at the step that *fuse* names. None or blank: never."""
    global _fuse  # one per process, because a process dies once
    _fuse = _parse(fuse.strip()) if fuse and fuse.strip() else None


def reach(name: str) -> None:
    """Mark the step called *name*; the process dies here when the fuse matches."""
    if _fuse is not None and _fuse(name):
        os.write(2, f"crashpoint: {name}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)


def _parse(fuse: str) -> Callable[[str], bool]:
    if fuse.startswith(">"):
        return lambda name: _record(fuse[1:], name)
    wanted, separator, number = fuse.rpartition("#")
    left = int(number)

    def matches(name: str) -> bool:
        nonlocal left
        if not separator or name == wanted:
            left -= 1
        return left <= 0

    return matches


def _record(path: str, name: str) -> bool:
    # One write to a file that several processes may share.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, f"{name}\n".encode())
    finally:
        os.close(descriptor)
    return False

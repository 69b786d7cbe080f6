"""Named places where a test can kill the process, to see what is left.

Every durable step calls `reach`. Unarmed, that is one comparison. A fuse is one of

    7                 the 7th step, whatever it is called: a test arms 1, 2, 3 … until the command survives
    queue commit#2    the 2nd step of that name
    >FILE             no death: the name of every step becomes a line of FILE
"""

import os
import signal
from collections.abc import Callable

#: Told the name of each step; True when the process is to die there. None: unarmed.
_fuse: Callable[[str], bool] | None = None


def arm(fuse: str | None) -> None:
    """Kill this process where *fuse* says. None or blank: never."""
    global _fuse  # a process dies once, so the fuse is the process's own
    _fuse = _made(fuse.strip()) if fuse and fuse.strip() else None


def reach(name: str) -> None:
    """Pass the step called *name*, or die there."""
    if _fuse is not None and _fuse(name):
        os.write(2, f"crashpoint: {name}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)


def _made(fuse: str) -> Callable[[str], bool]:
    if fuse.startswith(">"):
        return lambda name: _recorded(fuse[1:], name)
    wanted, separator, number = fuse.rpartition("#")
    left = int(number)

    def burn(name: str) -> bool:
        nonlocal left
        if not separator or name == wanted:
            left -= 1
        return left <= 0

    return burn


def _recorded(path: str, name: str) -> bool:
    # One write to a file that several processes may share.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, f"{name}\n".encode())
    finally:
        os.close(descriptor)
    return False

"""Named places where a test can kill the process, to see what is left.

Every durable step calls `reach`. Unarmed, that is one comparison. Armed with the number N, the
process kills itself with SIGKILL at the N-th step it reaches, so that a test can walk through
all of them without knowing how many there are: it arms 1, 2, 3 … until the command survives.
"""

import os
import signal

#: Set by `arm`; the count of steps still to survive, or None.
_steps_left: int | None = None


def arm(steps: str | None) -> None:
    """Kill this process at the given step (a decimal number). None or blank: never."""
    global _steps_left  # a process dies once, so the fuse is the process's own
    _steps_left = int(steps) if steps and steps.strip() else None


def reach(name: str) -> None:
    """Pass the step called *name*, or die there."""
    global _steps_left
    if _steps_left is None:
        return
    _steps_left -= 1
    if _steps_left <= 0:
        os.write(2, f"crashpoint: {name}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)

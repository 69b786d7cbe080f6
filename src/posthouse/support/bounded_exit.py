"""Bounds the exit of the process, even while a thread hangs in the kernel.

Python joins its pool threads at exit, so a blocked one keeps the process alive for ever.
"""

import os
import sys
import threading

#: The exit code of a process whose shutdown did not finish.
EXIT_TIMED_OUT = 70


def end_within(seconds: float, *, code: int = EXIT_TIMED_OUT) -> None:
    """Exit this process with *code* after *seconds*, if it still runs. Call it at the start of a shutdown.

    Threads that still run then are abandoned, so *seconds* must be enough to save the state.
    """
    timer = threading.Timer(seconds, _end, (seconds, code))
    timer.daemon = True
    timer.start()


def _end(seconds: float, code: int) -> None:
    blocked = [thread.name for thread in threading.enumerate() if not thread.daemon]
    sys.stderr.write(f"process {os.getpid()} did not end within {seconds:g} s; left: {', '.join(blocked)}\n")
    sys.stderr.flush()
    os._exit(code)

"""A bounded end of the process, even while a thread hangs in the kernel.

Python joins the threads of its pools before it ends, and one that is blocked keeps the process for ever.
"""

import os
import sys
import threading

#: The exit code of a process whose shutdown did not come to its end.
OVERRUN = 70


def end_within(seconds: float, *, code: int = OVERRUN) -> None:
    """End this process with *code* after *seconds*, if it still lives. Call it when it is to end anyway.

    Before its state is safe, *seconds* bounds the shutdown; afterwards, what is left are threads to wait for.
    """
    timer = threading.Timer(seconds, _end, (seconds, code))
    timer.daemon = True
    timer.start()


def _end(seconds: float, code: int) -> None:
    blocked = [thread.name for thread in threading.enumerate() if not thread.daemon]
    sys.stderr.write(f"process {os.getpid()} did not end within {seconds:g} s; left: {', '.join(blocked)}\n")
    sys.stderr.flush()
    os._exit(code)

"""The end of a process with a thread that never ends."""

import subprocess
import sys

_BLOCKED = """
import os, sys, threading
from concurrent.futures import ThreadPoolExecutor
from posthouse.support import bounded_exit

read, write = os.pipe()
ThreadPoolExecutor(1, thread_name_prefix="stuck").submit(os.read, read, 1)
bounded_exit.end_within(0.1, code=int(sys.argv[1]))
"""


def test_a_blocked_thread_does_not_keep_the_process() -> None:
    """It ends with the code that was asked for, and says which thread was left."""
    done = subprocess.run(
        [sys.executable, "-c", _BLOCKED, "3"], capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 3
    assert "stuck_0" in done.stderr

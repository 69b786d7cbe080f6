"""Side effects of the scripted agent: run a command, spawn a process, crash."""

import os
import signal
from typing import NoReturn

from posthouse.support import clock
from posthouse.tools.scripted.directives import Crash

_MAX_OUTPUT_BYTES = 256 * 1024


class Command:
    """A shell command that runs concurrently with the agent, in its process group."""

    def __init__(self, command: str) -> None:
        import subprocess  # slow to load, and most turns run nothing
        import tempfile

        # A file, not a pipe: needs no reader while it runs. Closed by `close`.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def output(self) -> str:
        """Its output so far, up to a limit."""
        content = os.pread(self._output.fileno(), _MAX_OUTPUT_BYTES, 0)
        return content.decode(errors="replace").rstrip("\n")

    def close(self) -> None:
        """Kill it if it still runs, and release its resources."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._output.close()


def resets_in(seconds: float) -> str:
    """The text with which a CLI announces the end of a usage limit of *seconds*."""
    from datetime import timedelta

    return f" · resets {clock.iso_seconds(clock.now() + timedelta(seconds=seconds))}"


def spawn(seconds: float) -> int:
    """Start a process of this group that runs for *seconds*; returns its pid."""
    import subprocess

    process = subprocess.Popen(
        ["sleep", str(seconds)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return process.pid


def crash(order: Crash) -> NoReturn:
    """Exit or kill this process without cleanup."""
    if isinstance(order.how, str) and order.how in signal.Signals.__members__:
        number = signal.Signals[order.how]
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(order.how if isinstance(order.how, int) else 70)

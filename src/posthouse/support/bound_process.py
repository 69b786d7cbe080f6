"""A child process that the kernel kills when this process ends, even by SIGKILL.

The child inherits the reading end of a pipe, and only this process holds the writing end. When that closes,
the kernel signals the process that F_SETOWN names for the reading end. PR_SET_PDEATHSIG would need code
between fork and exec, and would end the child with the thread that started it.
"""

import fcntl
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence


class BoundProcess:
    """A running child. Its owner ends it with `end`."""

    def __init__(
        self, argv: Sequence[bytes], *, stdin: int, stdout: int, stderr: int, env: Mapping[str, str]
    ) -> None:
        """Start *argv*. Raises what `subprocess.Popen` raises; then nothing runs."""
        reading, self._lifeline = os.pipe()
        try:
            self._process = subprocess.Popen(
                argv, stdin=stdin, stdout=stdout, stderr=stderr, env=env, pass_fds=(reading,)
            )
            # The kernel notes the process, not the number: a later process with this pid is safe.
            _kill_when_closed(reading, self._process.pid)
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(reading)

    @property
    def pid(self) -> int:
        return self._process.pid

    def end(self) -> None:
        """Kill and reap it. A second call changes nothing."""
        if self._process.returncode is not None:
            return
        self._process.kill()
        self._process.wait()
        os.close(self._lifeline)


def _kill_when_closed(reading: int, pid: int) -> None:
    """Have the kernel kill the process *pid* when the pipe loses its last writer."""
    fcntl.fcntl(reading, fcntl.F_SETOWN, pid)
    fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGKILL)
    flags = fcntl.fcntl(reading, fcntl.F_GETFL)
    fcntl.fcntl(reading, fcntl.F_SETFL, flags | os.O_ASYNC)

"""A gateway in a forked process, which can be killed at a step; and any call of ours in one.

A fork has everything loaded already, so that a life costs milliseconds and a thousand deaths are affordable.
"""

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names
from posthouse.gateway import __main__ as entry
from posthouse.gateway_lifecycle import attach
from posthouse.sessions.session import Session
from posthouse.support import crashpoints
from posthouse.testing.waiting import LIMIT_SECONDS

_POLL_SECONDS = 0.005
#: What a process says when it is killed at a step.
DEATH_NOTE = "crashpoint: "
#: `prctl`'s PR_SET_PDEATHSIG: no life outlives its worker.
_DIE_WITH_PARENT = 1


class Death(RuntimeError):
    """The process died before it came to what was waited for."""


class Life:
    """One forked process. It leads a session of its own and ends with `end`, at the latest."""

    def __init__(self, act: Callable[[], int], folder: Path) -> None:
        self._said = folder / "said.log"
        self._fuse = folder / "fuse"
        self._armed, armed = os.pipe()
        self._code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._armed)
            _live(act, self._said, self._fuse, armed)
        os.close(armed)

    @property
    def is_over(self) -> bool:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code is not None

    def arm(self, fuse: str) -> None:
        """Set the fuse of the running process; it is set when this returns."""
        self._fuse.write_text(fuse)
        os.kill(self.pid, signal.SIGUSR1)
        if not select.select([self._armed], [], [], LIMIT_SECONDS)[0] or not os.read(self._armed, 1):
            raise Death(f"it could not be armed: {self._said.read_text()}")

    def wait(self) -> int:
        """Wait for its end; its exit code, below 0 the signal that killed it."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not self.is_over:
            if time.monotonic() > deadline:
                raise TimeoutError(f"it does not end: {self._said.read_text()}")
            time.sleep(_POLL_SECONDS)
        assert self._code is not None
        return self._code

    def end(self) -> str | None:
        """Kill it if it still lives; the step that it died at by itself, or None."""
        if not self.is_over:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        if self._armed >= 0:
            os.close(self._armed)
            self._armed = -1
        last = [line for line in self._said.read_text().splitlines() if line.startswith(DEATH_NOTE)]
        return last[-1].removeprefix(DEATH_NOTE) if last else None


class GatewayLife(Life):
    """The gateway of a session, in a fork."""

    def __init__(self, session: Session, folder: Path, *, fuse: str | None = None) -> None:
        self._session = session
        arguments = ["--gateway-root", str(session.gateway_root)]
        environment = {} if fuse is None else {names.CRASH_AT: fuse}
        super().__init__(lambda: entry.main(arguments, environment), folder)

    def serving(self) -> gf.CurrentInstance:
        """Its place, once it answers.

        Raises:
            Death: It died on the way.
        """
        deadline = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < deadline and not self.is_over:
            there = attach.live(self._session)
            if there is not None and there.pid == self.pid:
                return there
            time.sleep(_POLL_SECONDS)
        raise Death(f"it does not serve: {self._said.read_text()[-2000:]}")


def _live(act: Callable[[], int], said: Path, fuse: Path, armed: int) -> None:
    """Be the process, and end with it; nothing of the worker is run in it."""
    os.setsid()
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)

    def arm(_number: int, _frame: FrameType | None) -> None:
        crashpoints.arm(fuse.read_text())
        os.write(armed, b".")

    signal.signal(signal.SIGUSR1, arm)
    code = 70
    try:
        code = act()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)

"""Calls that are killed at one of their steps, each in a fork: a Python that starts anew costs a second.

python -m posthouse.testing.crash.calling   forks for each call that comes on stdin, and tells how it ended
"""

import contextlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import BinaryIO

from posthouse.support import crashpoints

_LENGTH = struct.Struct("!I")
_FAILED = 70


class Caller:
    """Makes calls, each in a process of its own. Made by `calling`."""

    def __init__(self, process: "subprocess.Popen[bytes]", said: BinaryIO) -> None:
        self._process = process
        self._said = said

    def dies_at(self, step: int, act: Callable[[], object]) -> bool:
        """Whether *act*, which can be pickled, was killed at its step number *step*; False: it has fewer.

        Raises:
            AssertionError: It failed instead; the message has its words.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = pickle.dumps((step, act))
        self._process.stdin.write(_LENGTH.pack(len(order)) + order)
        self._process.stdin.flush()
        told = self._process.stdout.readline()
        self._said.seek(0)
        assert told in (b"0\n", b"%d\n" % -signal.SIGKILL), self._said.read().decode()
        return told != b"0\n"


@contextlib.contextmanager
def calling() -> Iterator[Caller]:
    """Whoever makes calls, until the block ends."""
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            [sys.executable, "-m", "posthouse.testing.crash.calling"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
        ) as process,
    ):
        yield Caller(process, said)


def _forked(step: int, act: Callable[[], object]) -> int:
    """How *act* ended in a fork that dies at *step*: its exit code, below 0 the signal."""
    pid = os.fork()
    if pid == 0:
        _be(step, act)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _be(step: int, act: Callable[[], object]) -> None:
    """Be the process of a call, and end with it."""
    code = _FAILED
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)  # whatever it starts must not hold the pipe of the answers
        crashpoints.arm(str(step))
        act()
        code = 0
    except BaseException:  # noqa: BLE001 - a child must not go on as its parent
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def main() -> None:
    """Make each call that comes, until there are no more."""
    while head := sys.stdin.buffer.read(_LENGTH.size):
        # Read here, so that what it needs is loaded once and not in every fork.
        step, act = pickle.loads(sys.stdin.buffer.read(_LENGTH.unpack(head)[0]))
        print(_forked(step, act), flush=True)  # noqa: T201 - this is the answer


if __name__ == "__main__":
    main()

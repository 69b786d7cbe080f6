"""Signals as things to read, so that none of them tears a half-written line.

A handler only notes the number and wakes whoever waits; the program looks when it is between two
moves.
"""

import contextlib
import os
import select
import signal
from types import FrameType

from posthouse.tools.scripted.truth import Truth

_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)


class Signals:
    """What this process was sent and has not dealt with yet. One per process may listen."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._received: list[signal.Signals] = []
        self._deaf = False
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def listen(self) -> None:
        """Take over this process's signals."""
        for number in _HANDLED:
            signal.signal(number, self._note)

    def fileno(self) -> int:
        """Readable when a signal waits."""
        return self._reader

    def ignore(self) -> None:
        """From now on, only the truth log hears of them (a new window size is no demand)."""
        self._deaf = True

    def take(self) -> list[signal.Signals]:
        """The signals to obey, oldest first; each is given once."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 4096)
        received, self._received = self._received, []
        for number in received:
            if number != signal.SIGWINCH:
                self._truth.write("signal", text=number.name, ignored=self._deaf)
        if self._deaf:
            return [number for number in received if number == signal.SIGWINCH]
        return received

    def wait(self, seconds: float) -> None:
        """Sleep, but not past the next signal."""
        select.select([self._reader], [], [], seconds)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._received.append(signal.Signals(number))
        # A full pipe wakes the reader just as well.
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b"!")

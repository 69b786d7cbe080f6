"""Signals as a queue, so that none of them interrupts a half-written line.

The handler only queues the number and wakes the waiting loop; the program drains the queue between two
actions.
"""

import contextlib
import os
import select
import signal
from types import FrameType

from posthouse.tools.scripted.truth import TruthWriter

_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)


class SignalQueue:
    """Received signals that are not handled yet. Only one instance per process may be installed."""

    def __init__(self, truth: TruthWriter) -> None:
        self._truth = truth
        self._received: list[signal.Signals] = []
        self._is_ignoring = False
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def install(self) -> None:
        """Install the signal handlers."""
        for number in _HANDLED:
            signal.signal(number, self._on_signal)

    def fileno(self) -> int:
        """Readable when a signal is queued."""
        return self._reader

    def ignore(self) -> None:
        """From now on only log signals to the truth log, except window size changes."""
        self._is_ignoring = True

    def drain(self) -> list[signal.Signals]:
        """Remove and return the queued signals, oldest first."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 4096)
        received, self._received = self._received, []
        for number in received:
            if number != signal.SIGWINCH:
                self._truth.write("signal", text=number.name, ignored=self._is_ignoring)
        if self._is_ignoring:
            return [number for number in received if number == signal.SIGWINCH]
        return received

    def wait(self, seconds: float) -> None:
        """Sleep until the next signal, at most *seconds*."""
        select.select([self._reader], [], [], seconds)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._received.append(signal.Signals(number))
        # A full pipe wakes the reader too.
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b"!")

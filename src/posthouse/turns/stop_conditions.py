"""The conditions under which the bridge stops a running program.

They are an interrupt file (`Turn.interrupt`, which has sent SIGINT itself), a signal to the bridge, and the
time limit. The bridge then sends signals until the program ends.
"""

import signal
from types import FrameType

from posthouse.turns import process_stop
from posthouse.turns.folder import Folder, Run
from posthouse.turns.process_stop import Escalation
from posthouse.turns.turn_order import Order

LIMIT = "limit"
#: Ctrl-C, kill and the end of the pane end the turn; the text is recorded as its reason.
_REASONS = {
    signal.SIGINT: "interrupt",
    signal.SIGQUIT: "interrupt",
    signal.SIGTERM: "the bridge received SIGTERM",
    signal.SIGHUP: "the pane was closed",
}


class StopSignals:
    """The first signal this process got that means "stop"."""

    def __init__(self) -> None:
        self.reason: str | None = None
        for number in _REASONS:
            signal.signal(number, self._record)
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)  # Ctrl-Z would stop the bridge, not the program

    def _record(self, number: int, _frame: FrameType | None) -> None:
        self.reason = self.reason or _REASONS[signal.Signals(number)]


class StopMonitor:
    """Stops one program when a condition is met. Time is an argument."""

    def __init__(self, folder: Folder, order: Order, run: Run, signals: StopSignals, *, now: float) -> None:
        self._folder = folder
        self._turn_id = order.turn_id
        self._run = run
        self._signals = signals
        self._deadline = None if order.time_limit_seconds is None else now + order.time_limit_seconds
        self._escalation: Escalation | None = None

    def check(self, now: float) -> None:
        """Check the conditions, and send a due signal."""
        if self._escalation is None:
            self._escalation = self._start_escalation(now)
        if self._escalation and (number := self._escalation.due(now)):
            process_stop.send(self._run, self._turn_id, number)

    def pause(self, now: float, longest: float) -> float:
        """Seconds until the next check, at most *longest*."""
        return longest if self._deadline is None else max(0.0, min(longest, self._deadline - now))

    def _start_escalation(self, now: float) -> Escalation | None:
        reason = self._signals.reason or self._limit(now)
        if reason and self._folder.mark_interrupt(reason):
            return Escalation(now, sigint_sent=False)
        # The writer of the file sends SIGINT; if it died before that, SIGTERM follows on schedule.
        return Escalation(now, sigint_sent=True) if self._folder.interrupt.exists() else None

    def _limit(self, now: float) -> str | None:
        return LIMIT if self._deadline is not None and now >= self._deadline else None

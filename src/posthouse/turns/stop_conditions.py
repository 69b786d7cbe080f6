"""When a running program must be stopped, seen from the bridge.

A request comes as a file (`Turn.interrupt`, which has sent SIGINT itself), as a signal to the bridge, or
from the clock. The bridge then sees to it that the program ends.
"""

import signal
from types import FrameType

from posthouse.turns import process_stop
from posthouse.turns.folder import Folder, Run
from posthouse.turns.process_stop import Escalation
from posthouse.turns.turn_order import Order

LIMIT = "limit"
#: A person's Ctrl-C, somebody's kill, the end of the pane: each ends the turn and is kept as its reason.
_REASONS = {
    signal.SIGINT: "interrupt",
    signal.SIGQUIT: "interrupt",
    signal.SIGTERM: "the bridge was told to end",
    signal.SIGHUP: "the pane was closed",
}


class Signals:
    """The first signal this process got that means "stop"."""

    def __init__(self) -> None:
        self.reason: str | None = None
        for number in _REASONS:
            signal.signal(number, self._note)
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)  # Ctrl-Z would stop the telling, not the program

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.reason = self.reason or _REASONS[signal.Signals(number)]


class Watch:
    """Stops one program when that is asked for. Time is an argument."""

    def __init__(self, folder: Folder, order: Order, run: Run, signals: Signals, *, now: float) -> None:
        self._folder = folder
        self._turn_id = order.turn_id
        self._run = run
        self._signals = signals
        self._deadline = None if order.time_limit_seconds is None else now + order.time_limit_seconds
        self._escalation: Escalation | None = None

    def check(self, now: float) -> None:
        """Notice a request, and send what is due."""
        if self._escalation is None:
            self._escalation = self._begin(now)
        if self._escalation and (number := self._escalation.due(now)):
            process_stop.send(self._run, self._turn_id, number)

    def pause(self, now: float, longest: float) -> float:
        """How long the bridge may look away."""
        return longest if self._deadline is None else max(0.0, min(longest, self._deadline - now))

    def _begin(self, now: float) -> Escalation | None:
        reason = self._signals.reason or self._limit(now)
        if reason and self._folder.mark_interrupt(reason):
            return Escalation(now, was_begun=False)
        # Whoever made the mark sends SIGINT; should it have died between the two, SIGTERM comes in time.
        return Escalation(now, was_begun=True) if self._folder.interrupt.exists() else None

    def _limit(self, now: float) -> str | None:
        return LIMIT if self._deadline is not None and now >= self._deadline else None

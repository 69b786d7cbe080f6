"""When the bridge stops its program."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from posthouse.support.processes import Process
from posthouse.turns.folder import Folder, Run
from posthouse.turns.stop_conditions import StopMonitor, StopSignals
from posthouse.turns.turn_order import Order

#: Of an earlier boot, so that nobody is ever signalled here.
RUN = Run(boot_id="earlier", runner=Process(1, 1), child=Process(1, 1))


@pytest.fixture
def signals() -> Iterator[StopSignals]:
    numbers = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield StopSignals()
    for number, handler in before.items():
        signal.signal(number, handler)


def order(limit: float | None) -> Order:
    return Order(
        turn_id="turn-1",
        turn_index=1,
        tool="scripted",
        argv=("x",),
        working_directory="/",
        time_limit_seconds=limit,
    )


def reason(folder: Folder) -> str | None:
    interrupt = folder.read_interrupt()
    return interrupt.reason if interrupt else None


def test_without_a_limit_nothing_ever_happens(tmp_path: Path, signals: StopSignals) -> None:
    """A turn may take as long as it takes."""
    watch = StopMonitor(Folder(tmp_path), order(None), RUN, signals, now=0.0)

    watch.check(1e9)

    assert (reason(Folder(tmp_path)), watch.pause(1e9, 0.25)) == (None, 0.25)


def test_a_time_limit_is_marked_when_it_is_reached(tmp_path: Path, signals: StopSignals) -> None:
    """Not before; and the bridge does not oversleep it."""
    folder = Folder(tmp_path)
    watch = StopMonitor(folder, order(10.0), RUN, signals, now=100.0)
    watch.check(109.875)
    before = reason(folder)

    watch.check(110.0)

    assert (before, reason(folder)) == (None, "limit")
    assert (watch.pause(109.875, 0.25), watch.pause(200.0, 0.25)) == (0.125, 0.0)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (signal.SIGINT, "interrupt"),
        (signal.SIGTERM, "the bridge received SIGTERM"),
        (signal.SIGHUP, "the pane was closed"),
    ],
)
def test_a_signal_to_the_bridge_stops_the_turn(
    tmp_path: Path, signals: StopSignals, number: signal.Signals, expected: str
) -> None:
    """Ctrl-C in the pane, a kill and a closed pane each leave their reason."""
    watch = StopMonitor(Folder(tmp_path), order(None), RUN, signals, now=0.0)
    os.kill(os.getpid(), number)

    watch.check(0.0)

    assert reason(Folder(tmp_path)) == expected

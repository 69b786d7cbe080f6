"""Signals in their time, and only to whom they are meant for."""

import os
import signal

from posthouse.support import processes
from posthouse.support.processes import Process
from posthouse.turns.folder import Run
from posthouse.turns.process_stop import Escalation, group_members, send

ME = processes.identify(os.getpid())


def test_signals_become_due_one_by_one() -> None:
    """SIGINT at once, SIGTERM after 2 s, SIGKILL after 5 s, each once."""
    escalation = Escalation(100.0, sigint_sent=False)

    due = [escalation.due(moment) for moment in (100.0, 101.9, 102.0, 104.9, 105.0, 200.0)]

    assert due == [signal.SIGINT, None, signal.SIGTERM, None, signal.SIGKILL, None]


def test_a_stop_that_was_begun_goes_on_with_sigterm() -> None:
    """Nobody gets SIGINT twice: for some programs the second means "at once"."""
    escalation = Escalation(100.0, sigint_sent=True)

    assert [escalation.due(moment) for moment in (100.0, 102.0)] == [None, signal.SIGTERM]


def test_a_number_that_belongs_to_somebody_else_is_never_signalled() -> None:
    """A reused pid, or one of another boot, has no members of ours."""
    assert ME is not None
    reused = Run(boot_id=processes.boot_id(), runner=ME, child=Process(ME.pid, ME.start_ticks - 1))
    other_boot = Run(boot_id="earlier", runner=ME, child=ME)

    assert (group_members(reused, "turn-1"), group_members(other_boot, "turn-1")) == ([], [])
    assert not send(reused, "turn-1", signal.SIGKILL)
    assert not send(other_boot, "turn-1", signal.SIGKILL)

"""Whom a turn's signals may reach when its leader is gone."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from posthouse.contracts import names
from posthouse.support import processes
from posthouse.support.processes import Process
from posthouse.turns.folder import Run
from posthouse.turns.process_stop import all_processes, end_leftovers, send


@pytest.fixture(params=["", "setsid "], ids=["in the group", "in a session of its own"])
def orphan(request: pytest.FixtureRequest) -> Iterator[tuple[Run, Process]]:
    """What the turn `turn-mine` left running when its program ended."""
    leader = subprocess.Popen(
        ["/bin/sh", "-c", f"{request.param}sleep 300 >/dev/null & echo $!; read wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, names.TURN_ID: "turn-mine"},
    )
    assert leader.stdout is not None
    left = processes.identify(int(leader.stdout.readline()))
    child = processes.identify(leader.pid)
    assert left is not None
    assert child is not None
    leader.communicate()
    yield Run(boot_id=processes.boot_id(), runner=child, child=child), left
    processes.signal_all([left], signal.SIGKILL)


def test_what_is_left_without_its_leader_is_known_by_its_mark(orphan: tuple[Run, Process]) -> None:
    """The number of a group may be somebody else's by now; the mark is not."""
    run, left = orphan

    assert (all_processes(run, "turn-mine"), all_processes(run, "turn-other")) == ([left], [])


def test_only_the_turns_own_leftovers_are_ended(orphan: tuple[Run, Process]) -> None:
    """A stranger under the same number is left alone."""
    run, left = orphan

    assert not send(run, "turn-other", signal.SIGKILL)
    assert end_leftovers(run, "turn-other") == []
    assert left.is_alive()
    assert end_leftovers(run, "turn-mine") == []
    assert not left.is_alive()

"""Ending a turn's program with everything it started: who belongs to it, and which signal is due when.

The program leads its own session and process group. A group is signalled only while it is provably ours:
its leader has the recorded start time, and carries the turn's mark in its environment or is a child of the
turn's bridge (it gets the mark when it becomes the program). The record alone proves nothing: any program of
this user can write it. When the leader is gone, the members carry the mark, because by then the number may
belong to another group.
"""

import contextlib
import os
import signal
import time
from pathlib import PurePath

from posthouse.contracts import names
from posthouse.support import processes
from posthouse.support.processes import Process
from posthouse.turns.folder import Run

#: Seconds after the request, and what is sent then.
SCHEDULE = ((0.0, signal.SIGINT), (2.0, signal.SIGTERM), (5.0, signal.SIGKILL))
_LAST_WAIT_SECONDS = 2.0
_POLL_SECONDS = 0.02


class Escalation:
    """Which signal is due. Time is an argument."""

    def __init__(self, requested_at: float, *, was_begun: bool) -> None:
        self._requested_at = requested_at
        self._waiting = list(SCHEDULE[1:] if was_begun else SCHEDULE)

    def due(self, now: float) -> signal.Signals | None:
        """The next signal whose time has come, once; None when there is none now."""
        if not self._waiting or now < self._requested_at + self._waiting[0][0]:
            return None
        return self._waiting.pop(0)[1]


def members(run: Run, turn_id: str) -> list[Process]:
    """The live processes of the turn's group. Empty when none is provably ours."""
    if run.boot_id != processes.boot_id():
        return []
    leader = processes.identify(run.child.pid)
    if leader is not None and (leader != run.child or not _is_program(run, turn_id)):
        return []
    found = processes.group(run.child.pid)
    return found if leader else [member for member in found if _is_marked(member, turn_id)]


def everything(run: Run, turn_id: str) -> list[Process]:
    """The group, and what left it but carries the mark: some CLIs give each command its own session."""
    if run.boot_id != processes.boot_id():
        return []
    found = members(run, turn_id)
    return found + [process for process in processes.with_variable(*_mark(turn_id)) if process not in found]


def send(run: Run, turn_id: str, number: signal.Signals) -> bool:
    """Signal the whole group. False when nothing of it is left.

    SIGKILL also reaches what left the group: nobody else will tell it.
    """
    found = everything(run, turn_id) if number == signal.SIGKILL else members(run, turn_id)
    if not found:
        return False
    if processes.identify(run.child.pid) == run.child and _is_program(run, turn_id):
        # One call reaches also what is being forked right now.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(run.child.pid, number)
        found = [process for process in found if process not in members(run, turn_id)]
    processes.signal_all(found, number)
    return True


def escalate(run: Run, turn_id: str, *, was_begun: bool) -> None:
    """Send each signal in its time until the group is gone, at most 7 s. *was_begun*: SIGINT was sent.

    What left the group ends after it.
    """
    begun = time.monotonic()
    escalation = Escalation(begun, was_begun=was_begun)
    while members(run, turn_id) and time.monotonic() < begun + SCHEDULE[-1][0] + _LAST_WAIT_SECONDS:
        if number := escalation.due(time.monotonic()):
            send(run, turn_id, number)
        time.sleep(_POLL_SECONDS)
    end_leftovers(run, turn_id)


def end_leftovers(run: Run, turn_id: str) -> list[Process]:
    """End what an ended turn left behind. Returns what still lives, normally nothing."""
    return processes.end(everything(run, turn_id))


def is_bridge(run: Run, turn_id: str) -> bool:
    """Whether the recorded bridge lives and was started for this turn, as its command line says."""
    # As `runner.bridge_argv` makes it: the interpreter and its two options come first.
    script_and_folder = [PurePath(word).name for word in processes.command_line(run.runner.pid)[3:5]]
    return run.runner.is_alive() and script_and_folder == ["bridge.py", turn_id]


def _is_program(run: Run, turn_id: str) -> bool:
    if _is_marked(run.child, turn_id):
        return True
    return processes.parent_of(run.child.pid) == run.runner.pid and is_bridge(run, turn_id)


def _is_marked(process: Process, turn_id: str) -> bool:
    return processes.has_variable(process.pid, *_mark(turn_id))


def _mark(turn_id: str) -> tuple[str, str]:
    return names.TURN_ID, turn_id

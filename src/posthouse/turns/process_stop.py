"""Ends a turn's program with everything it started: finds its processes and schedules the signals.

The program leads its own session and process group. A group is signalled only if it is provably ours: its
leader has the recorded start time, and has the turn's marker in its environment or is a child of the turn's
bridge (it gets the marker when it executes the program). The record alone proves nothing: any program of this
user can write it. When the leader is gone, each member must have the marker, because the group id may have
been reused.
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

#: Seconds after the request, and the signal.
SCHEDULE = ((0.0, signal.SIGINT), (2.0, signal.SIGTERM), (5.0, signal.SIGKILL))
_LAST_WAIT_SECONDS = 2.0
_POLL_SECONDS = 0.02


class Escalation:
    """The schedule of signals. Time is an argument."""

    def __init__(self, requested_at: float, *, sigint_sent: bool) -> None:
        self._requested_at = requested_at
        self._waiting = list(SCHEDULE[1:] if sigint_sent else SCHEDULE)

    def due(self, now: float) -> signal.Signals | None:
        """The next due signal, once; None if no signal is due."""
        if not self._waiting or now < self._requested_at + self._waiting[0][0]:
            return None
        return self._waiting.pop(0)[1]


def group_members(run: Run, turn_id: str) -> list[Process]:
    """The live processes of the turn's group. Empty if the group is not provably ours."""
    if run.boot_id != processes.boot_id():
        return []
    leader = processes.identify(run.child.pid)
    if leader is not None and (leader != run.child or not _is_program(run, turn_id)):
        return []
    found = processes.group(run.child.pid)
    return found if leader else [member for member in found if _is_marked(member, turn_id)]


def all_processes(run: Run, turn_id: str) -> list[Process]:
    """The group, and marked processes outside it: some CLIs run each command in its own session."""
    if run.boot_id != processes.boot_id():
        return []
    found = group_members(run, turn_id)
    return found + [process for process in processes.with_variable(*_marker(turn_id)) if process not in found]


def send(run: Run, turn_id: str, number: signal.Signals) -> bool:
    """Signal the whole group. False if no process is left.

    SIGKILL is also sent to marked processes outside the group.
    """
    found = all_processes(run, turn_id) if number == signal.SIGKILL else group_members(run, turn_id)
    if not found:
        return False
    if processes.identify(run.child.pid) == run.child and _is_program(run, turn_id):
        # One call also reaches processes that are being forked.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(run.child.pid, number)
        found = [process for process in found if process not in group_members(run, turn_id)]
    processes.signal_all(found, number)
    return True


def escalate(run: Run, turn_id: str, *, sigint_sent: bool) -> None:
    """Send each signal when due until the group is gone, at most 7 s. *sigint_sent*: skip SIGINT.

    Ends marked processes outside the group afterwards.
    """
    begun = time.monotonic()
    escalation = Escalation(begun, sigint_sent=sigint_sent)
    while group_members(run, turn_id) and time.monotonic() < begun + SCHEDULE[-1][0] + _LAST_WAIT_SECONDS:
        if number := escalation.due(time.monotonic()):
            send(run, turn_id, number)
        time.sleep(_POLL_SECONDS)
    end_leftovers(run, turn_id)


def end_leftovers(run: Run, turn_id: str) -> list[Process]:
    """End the remaining processes of an ended turn. Returns those still alive, normally none."""
    return processes.end(all_processes(run, turn_id))


def is_bridge(run: Run, turn_id: str) -> bool:
    """Whether the recorded bridge lives and its command line is that of this turn."""
    # As in `runner.bridge_argv`: the interpreter and its two options come first.
    script_and_folder = [PurePath(word).name for word in processes.command_line(run.runner.pid)[3:5]]
    return run.runner.is_alive() and script_and_folder == ["bridge.py", turn_id]


def _is_program(run: Run, turn_id: str) -> bool:
    if _is_marked(run.child, turn_id):
        return True
    return processes.parent_of(run.child.pid) == run.runner.pid and is_bridge(run, turn_id)


def _is_marked(process: Process, turn_id: str) -> bool:
    return processes.has_variable(process.pid, *_marker(turn_id))


def _marker(turn_id: str) -> tuple[str, str]:
    return names.TURN_ID, turn_id

"""One turn, independent of the process that started it: its state, its end, its events."""

import asyncio
import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from posthouse.contracts.events import CanonicalEvent
from posthouse.errors import NotFound
from posthouse.support import processes
from posthouse.support.processes import Process
from posthouse.support.untrusted_files import UnsafeFile
from posthouse.turns import process_stop
from posthouse.turns import state as states
from posthouse.turns.folder import BadTurnRecord, Folder, Run
from posthouse.turns.state import TurnState
from posthouse.turns.turn_order import Order

__all__ = ["Turn", "TurnNotFound", "TurnState"]

_POLL_SECONDS = 0.02
_BRIDGE_END_SECONDS = 2.0
_NOT_STARTED = "it was stopped before its program ran"


class TurnNotFound(NotFound):
    """There is no turn with that id."""

    code = "turn_not_found"


class Turn:
    """One turn folder; everything is derived from the files in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = Folder(folder)
        self.turn_id = folder.name
        self.stdout_path = self.folder.stdout
        self.stderr_path = self.folder.stderr
        self.exitcode_path = self.folder.exitcode
        self._final: TurnState | None = None

    def order(self) -> Order:
        """The order, without the prompt.

        Raises:
            TurnNotFound: There is no such turn.
        """
        try:
            return self.folder.read_order()
        except (FileNotFoundError, NotADirectoryError):
            raise TurnNotFound(f"there is no turn {self.turn_id!r}; `turn submit` starts one") from None

    def state(self) -> TurnState:
        """The state now. `unknown`: its starter was killed, and it may still start.

        Raises:
            TurnNotFound: There is no such turn.
        """
        if self._final:
            return self._final
        self.order()
        state = states.derive(self.folder)
        if state.is_final:
            self._final = state
        return state

    def wait(self, seconds: float | None) -> TurnState:
        """Wait for the end, at most *seconds*, and return the state ("active" after a timeout)."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while (state := self.state()).status == "active":
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                break
            self._wait_for_change(left)
        return state

    async def ended(self) -> TurnState:
        """Wait until the turn is not active any more; its state. Does not poll while a process lives."""
        # In a thread: the output may be long.
        while (state := await asyncio.to_thread(self.state)).status == "active":
            if (descriptor := self._open_pidfd()) is None:
                await asyncio.sleep(_POLL_SECONDS)
            else:
                await _readable(descriptor)
        return state

    def interrupt(self, *, reason: str = "interrupt") -> bool:
        """Interrupt the whole process group: SIGINT now, SIGTERM after 2 s, SIGKILL after 5 s.

        The request is on disk before the first signal. Returns at once while the bridge lives, which sends
        the later signals; with a dead bridge it blocks until the group is gone, at most 7 s, so call it in a
        thread from an event loop. False: the turn has ended; nothing was done.
        """
        if self.state().is_final:
            return False
        is_first_request = self.folder.mark_interrupt(reason)
        if self.cancel_unstarted(_NOT_STARTED) or not (run := self._run()):
            return True
        if is_first_request:
            process_stop.send(run, self.turn_id, signal.SIGINT)
        if not run.runner.is_alive():
            process_stop.escalate(run, self.turn_id, sigint_sent=is_first_request)
        return True

    def kill(self) -> None:
        """SIGKILL the whole process group at once. Does nothing to a turn that has ended."""
        if self.state().is_final:
            return
        self.folder.mark_interrupt("kill")
        if self.cancel_unstarted(_NOT_STARTED) or not (run := self._run()):
            return
        process_stop.send(run, self.turn_id, signal.SIGKILL)
        # A living bridge writes the exit code now; a stopped one is killed.
        bridge = [run.runner] if process_stop.is_bridge(run, self.turn_id) else []
        left = processes.wait_gone(bridge, seconds=_BRIDGE_END_SECONDS)
        processes.signal_all(left, signal.SIGKILL)
        processes.wait_gone(left, seconds=_BRIDGE_END_SECONDS)

    def cancel_unstarted(self, reason: str) -> bool:
        """Cancel the turn durably unless a bridge has claimed it. False: a bridge has."""
        return self.folder.cancel_unstarted(reason)

    def end_leftovers(self) -> list[Process]:
        """End remaining processes of the ended turn. Returns those still alive, normally none."""
        try:
            run = self._run()
        except (BadTurnRecord, UnsafeFile):
            return []  # no process provably belongs to this turn
        return process_stop.end_leftovers(run, self.turn_id) if run else []

    def events(self) -> Iterator[CanonicalEvent]:
        """The events so far, in order."""
        self.order()
        return states.events_of(self.folder)

    def _run(self) -> Run | None:
        claim = self.folder.read_claim()
        return claim if isinstance(claim, Run) else None

    def _wait_for_change(self, seconds: float | None) -> None:
        if (descriptor := self._open_pidfd()) is None:
            time.sleep(_POLL_SECONDS)
            return
        try:
            select.select([descriptor], [], [], seconds)
        finally:
            os.close(descriptor)

    def _open_pidfd(self) -> int | None:
        """A pidfd of the bridge or, if that is dead, of the program; None if both are dead."""
        run = self._run()
        for process in (run.runner, run.child) if run else ():
            if descriptor := _pidfd_of(process):
                return descriptor
        return None


def _pidfd_of(process: Process) -> int | None:
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    if process.is_alive():
        return descriptor
    os.close(descriptor)
    return None


async def _readable(descriptor: int) -> None:
    """Wait until *descriptor* is readable, then close it."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)

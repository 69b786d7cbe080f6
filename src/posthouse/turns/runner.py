"""Starts turns: one at a time in a session, each at most once.

Under the lock, in this order: the last turn is ended or cancelled, `.last` names the new one, its folder
appears by an atomic rename, the bridge starts, the program gets a pid. A crash in between leaves a turn that
has run or one that the next start cancels, never one that could run later.
"""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from posthouse.errors import Conflict, PosthouseError, Unavailable
from posthouse.support import crashpoints, files, ids, locks, processes, untrusted_files
from posthouse.support.untrusted_files import UnsafeFile
from posthouse.terminal import session
from posthouse.terminal.client import Tmux
from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import plain
from posthouse.turns.folder import BadTurnRecord, Folder
from posthouse.turns.state import LOCK
from posthouse.turns.turn import Turn, TurnNotFound
from posthouse.turns.turn_order import Order

_BRIDGE = Path(__file__).with_name("bridge.py")
#: Contains the id of the turn that was started last, the only one that can be active.
_LAST = ".last"
_LOCK_SECONDS = 10.0
_START_SECONDS = 20.0
_POLL_SECONDS = 0.005
_SHOWN_ROWS = 8
_IN_FLIGHT_SECONDS = 0.5


class TurnActive(Conflict):
    """A turn is in progress; nothing was started."""

    code = "turn_active"


def is_turn_id(text: str) -> bool:
    """Whether *text* is a safe folder name in the folder of turns."""
    return bool(text) and not text.startswith(".") and "/" not in text and text.isprintable()


def new_turn_id() -> str:
    return f"turn-{ids.hex_id(12)}"


def start(
    tmux: Tmux, session_name: str, turns_root: Path, order: Order, *, variables_file: Path | None = None
) -> Turn:
    """Start *order* in the session's agent pane. On return the program's pid is on disk.

    The program gets the variables in *variables_file*.

    Raises:
        TurnActive: Another turn is in progress or being started.
        Conflict: `turn_exists`: the id was used before. `turn_leftovers_alive`: the last turn's processes
            cannot be ended.
        Unavailable: `bridge_died`: the turn did not start, and never will.
    """
    with _start_lock(turns_root):
        _finish_last(turns_root)
        pane = session.agent_pane(tmux, session_name)
        turn = _write(turns_root, order)
        started = _start_bridge(tmux, pane, turn, order, variables_file)
        _await_pid(tmux, started, turn)
    return turn


def cancel_abandoned(turns_root: Path) -> None:
    """Cancel a turn that a killed starter left unstarted. A running turn continues.

    Raises:
        TurnActive: A turn is being started.
    """
    with _start_lock(turns_root):
        if turn := last(turns_root):
            _cancel_unstarted(turn)


def forbid(turns_root: Path, turn_id: str) -> bool:
    """Write a tombstone so that *turn_id* is never started here. False: it was ordered before.

    Raises:
        TurnActive: A turn is being started.
    """
    folder = turns_root / turn_id
    with _start_lock(turns_root):
        # The tombstone is an empty folder: starting the turn then fails because its id is taken.
        folder.mkdir(mode=0o700, exist_ok=True)
        files.sync_folder(turns_root)
        return not Folder(folder).order.exists()


def turns_of(turns_root: Path) -> list[Turn]:
    """All turns of a session with a readable order, by index."""
    if not turns_root.is_dir():
        return []
    found: list[tuple[int, str, Turn]] = []
    for path in turns_root.glob("[!.]*/order.json"):
        with suppress(BadTurnRecord, UnsafeFile, TurnNotFound):  # one bad file hides one turn
            turn = Turn(path.parent)
            found.append((turn.order().turn_index, turn.turn_id, turn))
    return [turn for _, _, turn in sorted(found, key=lambda one: one[:2])]


def active(turns_root: Path) -> Turn | None:
    """The turn in progress, or None."""
    turn = last(turns_root)
    return turn if turn and turn.state().status == "active" else None


def last(turns_root: Path) -> Turn | None:
    """The turn started last. Not durable: a power cut may lose it, but also ends every turn."""
    try:
        turn_id = untrusted_files.read_text(turns_root / _LAST)
    except FileNotFoundError:
        return None
    if not is_turn_id(turn_id):
        return None  # the agent's programs can write there too
    return Turn(turns_root / turn_id) if (turns_root / turn_id / "order.json").exists() else None


@contextmanager
def _start_lock(turns_root: Path) -> Iterator[None]:
    try:
        with locks.hold(turns_root / LOCK, wait_seconds=_LOCK_SECONDS):
            yield
    except locks.LockHeld as error:
        raise TurnActive(f"another turn is being started by process {error.holder}; try again") from error


def _finish_last(turns_root: Path) -> None:
    """Refuse while the last turn is active; otherwise end its remaining processes."""
    turn = last(turns_root)
    if turn is None:
        return
    _cancel_unstarted(turn)
    if turn.state().status == "active":
        raise TurnActive(f"turn {turn.turn_id} is in progress; wait for it or interrupt it")
    if left := turn.end_leftovers():
        pids = ", ".join(str(process.pid) for process in left)
        message = f"turn {turn.turn_id} left processes that cannot be ended: {pids}"
        raise Conflict(message, code="turn_leftovers_alive")


def _cancel_unstarted(turn: Turn) -> None:
    """Cancel a turn that no bridge has claimed, and wait until its bridge cannot start any more."""
    if turn.cancel_unstarted("its starter was killed before its program ran"):
        # The starter's tmux command may still be in flight and would replace the next turn's bridge. No event
        # shows when it was executed; a running server executes it within milliseconds.
        time.sleep(_IN_FLIGHT_SECONDS)


def _write(turns_root: Path, order: Order) -> Turn:
    """Create the turn's folder atomically. Removes incomplete folders of killed starters."""
    for stale in turns_root.glob(".*.new"):
        shutil.rmtree(stale)
    folder, staging = turns_root / order.turn_id, turns_root / f".{order.turn_id}.new"
    if folder.exists():
        message = f"turn {order.turn_id} was ordered or cancelled before; use another id"
        raise Conflict(message, code="turn_exists")
    staging.mkdir(mode=0o700)
    if order.stdin is not None:
        files.write_whole(Folder(staging).prompt, order.stdin.encode(errors="surrogateescape"), durable=True)
    files.write_json(Folder(staging).order, order.to_record(), durable=True)
    files.write_whole(turns_root / _LAST, order.turn_id.encode(), durable=False)
    staging.rename(folder)
    files.sync_folder(turns_root)
    crashpoints.reach("turn ordered")
    return Turn(folder)


def bridge_argv(folder: Path, variables_file: Path | None = None) -> tuple[str, ...]:
    """The command of the bridge for the turn in *folder*."""
    given = () if variables_file is None else (str(variables_file),)
    return (sys.executable, "-I", "-S", str(_BRIDGE), str(folder), *given)


def _start_bridge(
    tmux: Tmux, pane: Pane, turn: Turn, order: Order, variables_file: Path | None
) -> Pane | None:
    """The pane with the bridge. None if tmux failed to answer but the bridge runs."""
    try:
        started = session.start_program(
            tmux,
            pane,
            bridge_argv(turn.folder.path, variables_file),
            environment={},
            working_directory=Path(order.working_directory),
        )
    except PosthouseError as error:
        if turn.cancel_unstarted(str(error)):
            raise
        return None
    crashpoints.reach("bridge started")
    return started


def _await_pid(tmux: Tmux, pane: Pane | None, turn: Turn) -> None:
    """Wait until the program's pid is on disk.

    Raises:
        Unavailable: `bridge_died`: the turn never starts.
    """
    bridge = processes.identify(pane.pid) if pane else None
    deadline = time.monotonic() + _START_SECONDS
    while not turn.folder.process.exists():
        if time.monotonic() > deadline:
            turn.kill()
        elif pane and not (bridge and bridge.is_alive()):
            turn.cancel_unstarted("its bridge ended too early")
        if turn.state().is_final and not turn.folder.process.exists():
            message = f"turn {turn.turn_id} did not start{_pane_text(tmux, pane)}"
            raise Unavailable(message, code="bridge_died")
        time.sleep(_POLL_SECONDS)


def _pane_text(tmux: Tmux, pane: Pane | None) -> str:
    """The text of the pane, for a message."""
    if pane is None:
        return ""
    try:
        rows = session.capture(tmux, pane.pane_id).rows
    except PosthouseError as error:
        return f"; its pane cannot be read: {error}"
    shown = [text for row in rows if (text := plain(row).rstrip())][-_SHOWN_ROWS:]
    return "; its pane shows:\n" + "\n".join(shown) if shown else "; its pane shows nothing"

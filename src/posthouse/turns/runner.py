"""Starting turns: one at a time in a session, each carried out at most once.

Under the lock, in this order: the last turn is settled, `.last` names the new one, its folder appears whole,
the bridge is started, its program has a pid. Whoever dies in between leaves a turn that has run or one that
the next start calls off, never one that could run later.
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
#: Names the turn that was started last, the only one that can be active.
_LAST = ".last"
_LOCK_SECONDS = 10.0
_START_SECONDS = 20.0
_POLL_SECONDS = 0.005
_SHOWN_ROWS = 8
_LAST_WORDS_SECONDS = 0.5


class TurnActive(Conflict):
    """A turn is in progress; nothing was started."""

    code = "turn_active"


class TurnExists(Conflict):
    """A turn of that id was ordered before; nothing was started."""

    code = "turn_exists"


class LeftoversAlive(Conflict):
    """Processes of the last turn cannot be ended; nothing was started."""

    code = "turn_leftovers_alive"


class BridgeDied(Unavailable):
    """The turn did not start, and never will."""

    code = "bridge_died"


def is_turn_id(text: str) -> bool:
    """Whether *text* can name a folder beside the other turns, and none elsewhere."""
    return bool(text) and not text.startswith(".") and "/" not in text and text.isprintable()


def new_turn_id() -> str:
    return f"turn-{ids.hex_id(12)}"


def start(
    tmux: Tmux, session_name: str, turns_root: Path, order: Order, *, variables_file: Path | None = None
) -> Turn:
    """Start *order* in the session's agent pane. When this returns, its program's pid is on disk.

    The bridge gives the program the variables in *variables_file*.

    Raises:
        TurnActive: Another turn is in progress or being started.
        TurnExists: The id was used before.
        LeftoversAlive: The last turn's processes cannot be ended.
        BridgeDied: The turn did not start, and never will.
    """
    with _one_at_a_time(turns_root):
        _settle_last(turns_root)
        pane = session.agent_pane(tmux, session_name)
        turn = _write(turns_root, order)
        started = _start_bridge(tmux, pane, turn, order, variables_file)
        _await_pid(tmux, started, turn)
    return turn


def settle(turns_root: Path) -> None:
    """Make sure that what a killed starter left never begins. A turn that runs goes on.

    Raises:
        TurnActive: Somebody is starting a turn right now.
    """
    with _one_at_a_time(turns_root):
        if turn := last(turns_root):
            _call_off(turn)


def forbid(turns_root: Path, turn_id: str) -> bool:
    """Make sure that *turn_id* is never started here. False: it was ordered before.

    Raises:
        TurnActive: Somebody is starting a turn right now.
    """
    place = turns_root / turn_id
    with _one_at_a_time(turns_root):
        # An empty folder: whoever orders the turn finds its id taken.
        place.mkdir(mode=0o700, exist_ok=True)
        files.sync_folder(turns_root)
        return not Folder(place).order.exists()


def turns_of(turns_root: Path) -> list[Turn]:
    """Every turn of a session whose order can be read, by index."""
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
    """The turn started last. Lost with a power cut at worst, which ends every turn anyway."""
    try:
        turn_id = untrusted_files.read_text(turns_root / _LAST)
    except FileNotFoundError:
        return None
    if not is_turn_id(turn_id):
        return None  # the agent's programs can write there too
    return Turn(turns_root / turn_id) if (turns_root / turn_id / "order.json").exists() else None


@contextmanager
def _one_at_a_time(turns_root: Path) -> Iterator[None]:
    try:
        with locks.hold(turns_root / LOCK, wait_seconds=_LOCK_SECONDS):
            yield
    except locks.LockHeld as error:
        raise TurnActive(f"another turn is being started by process {error.holder}; try again") from error


def _settle_last(turns_root: Path) -> None:
    """Refuse while the last turn is active; otherwise leave nothing of it that runs or could."""
    turn = last(turns_root)
    if turn is None:
        return
    _call_off(turn)
    if turn.state().status == "active":
        raise TurnActive(f"turn {turn.turn_id} is in progress; wait for it or interrupt it")
    if left := turn.end_leftovers():
        pids = ", ".join(str(process.pid) for process in left)
        raise LeftoversAlive(f"turn {turn.turn_id} left processes that cannot be ended: {pids}")


def _call_off(turn: Turn) -> None:
    """Call off a turn that was ordered and that no bridge took; nothing of it comes later."""
    if turn.call_off("whoever started it was killed before its program ran"):
        # Its word to tmux may still be on the way, and would kill the bridge of the next turn. No event tells
        # when it was said, as a control client whose caller died never leaves; a server that runs, or wakes,
        # hears it within milliseconds.
        time.sleep(_LAST_WORDS_SECONDS)


def _write(turns_root: Path, order: Order) -> Turn:
    """Make the turn's folder, whole. What a killed starter left half made goes."""
    for stale in turns_root.glob(".*.new"):
        shutil.rmtree(stale)
    place, made = turns_root / order.turn_id, turns_root / f".{order.turn_id}.new"
    if place.exists():
        raise TurnExists(f"turn {order.turn_id} was ordered or called off before; take another id")
    made.mkdir(mode=0o700)
    if order.stdin is not None:
        files.write_whole(Folder(made).prompt, order.stdin.encode(errors="surrogateescape"), durable=True)
    files.write_json(Folder(made).order, order.to_record(), durable=True)
    files.write_whole(turns_root / _LAST, order.turn_id.encode(), durable=False)
    made.rename(place)
    files.sync_folder(turns_root)
    crashpoints.reach("turn ordered")
    return Turn(place)


def bridge_argv(folder: Path, variables_file: Path | None = None) -> tuple[str, ...]:
    """The command that carries out the turn in *folder*."""
    given = () if variables_file is None else (str(variables_file),)
    return (sys.executable, "-I", "-S", str(_BRIDGE), str(folder), *given)


def _start_bridge(
    tmux: Tmux, pane: Pane, turn: Turn, order: Order, variables_file: Path | None
) -> Pane | None:
    """The pane with the bridge in it. None when tmux failed to answer but the bridge runs all the same."""
    try:
        started = session.start_program(
            tmux,
            pane,
            bridge_argv(turn.folder.path, variables_file),
            environment={},
            working_directory=Path(order.working_directory),
        )
    except PosthouseError as error:
        if turn.call_off(str(error)):
            raise
        return None
    crashpoints.reach("bridge started")
    return started


def _await_pid(tmux: Tmux, pane: Pane | None, turn: Turn) -> None:
    """Wait until the program's pid is on disk.

    Raises:
        BridgeDied: It will never be.
    """
    bridge = processes.identify(pane.pid) if pane else None
    deadline = time.monotonic() + _START_SECONDS
    while not turn.folder.process.exists():
        if time.monotonic() > deadline:
            turn.kill()
        elif pane and not (bridge and bridge.is_alive()):
            turn.call_off("its bridge ended too early")
        if turn.state().is_final and not turn.folder.process.exists():
            raise BridgeDied(f"turn {turn.turn_id} did not start{_last_words(tmux, pane)}")
        time.sleep(_POLL_SECONDS)


def _last_words(tmux: Tmux, pane: Pane | None) -> str:
    """What the pane shows, for a message."""
    if pane is None:
        return ""
    try:
        rows = session.capture(tmux, pane.pane_id).rows
    except PosthouseError as error:
        return f"; its pane cannot be read: {error}"
    shown = [text for row in rows if (text := plain(row).rstrip())][-_SHOWN_ROWS:]
    return "; its pane shows:\n" + "\n".join(shown) if shown else "; its pane shows nothing"

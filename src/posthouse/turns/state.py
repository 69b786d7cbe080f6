"""What the files of a turn say about it now."""

import fcntl
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from posthouse import tools
from posthouse.contracts.events import CanonicalEvent
from posthouse.support import clock, processes, untrusted_files
from posthouse.support.untrusted_files import UnsafeFile
from posthouse.turns import outcome, tail
from posthouse.turns.event_decoding import Narrator
from posthouse.turns.folder import CalledOff, Folder, Run
from posthouse.turns.tail import MAX_LINE_BYTES, Overlong, Tail
from posthouse.turns.turn_order import Order

Status = Literal["active", "completed", "failed", "interrupted", "unknown"]
CompletionSource = Literal["process_exit"]

#: Beside the turn folders; held by whoever starts a turn, until its program has a pid.
LOCK = ".lock"
#: An event repeats its record, twice at worst and with every character escaped.
_MAX_EVENT_BYTES = 16 * MAX_LINE_BYTES
#: More than a narrator tells, and less than can be encoded for a route.
_MAX_EVENT_DEPTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnState:
    """What is known about a turn at one moment."""

    turn_id: str
    turn_index: int
    status: Status
    started_at_utc: str | None = None
    completed_at_utc: str | None = None
    returncode: int | None = None
    #: None when the bridge was killed and the outcome was judged from what the program left.
    completion_source: CompletionSource | None = None
    #: The provider's conversation, as far as this turn told it.
    session_id: str | None = None
    answer: str | None = None
    error: str | None = None
    usage: Mapping[str, Any] | None = None
    cost_usd: float | None = None

    @property
    def is_final(self) -> bool:
        return self.status in ("completed", "failed", "interrupted")


def derive(folder: Folder) -> TurnState:
    """The state of the turn in *folder*. The output of an active turn is not read.

    Raises:
        FileNotFoundError: Nothing was ordered there.
    """
    order = folder.read_order()
    if (code := folder.read_exitcode()) is not None:
        return _judged(folder, order, code)
    claim = folder.read_claim()
    if claim is None:
        return _unclaimed(folder, order)
    if isinstance(claim, CalledOff):
        return _never_ran(folder, order, claim.reason)
    if is_alive(claim):
        return _plain(folder, order, "active")
    if not folder.process.exists():
        return _never_ran(folder, order, "the bridge was killed before it let the program go")
    # The bridge may have written it since it was looked for.
    return _judged(folder, order, folder.read_exitcode())


def is_alive(run: Run) -> bool:
    """Whether the program runs, or the bridge is still writing about it."""
    if run.boot_id != processes.boot_id():
        return False
    return run.runner.is_alive() or run.child.is_alive()


def events_of(folder: Folder) -> Iterator[CanonicalEvent]:
    """The turn's events so far, in order.

    A killed bridge may have left the telling in the middle of a line. Then they are derived again from the
    program's own files, stdout before stderr, with the time of the last output.
    """
    if not _is_told(folder):
        return _derived(folder, folder.read_order())
    return _told(folder)


def read_events(told: Tail) -> Iterator[CanonicalEvent]:
    """What was added to a turn's `canonical-events.jsonl` since the last reading."""
    for line in told.read():
        if not isinstance(line, Overlong):
            event = _event(line)
            if event is not None:
                yield event


def _event(line: bytes) -> CanonicalEvent | None:
    """The event in *line*; None for a torn or foreign line, which costs that line only."""
    try:
        return CanonicalEvent.from_record(untrusted_files.decode_json(line, max_depth=_MAX_EVENT_DEPTH))
    except (ValueError, KeyError, TypeError):
        return None


def open_canonical(folder: Folder) -> Tail:
    """Raises FileNotFoundError while nothing was told."""
    return Tail(folder.canonical, max_bytes=_MAX_EVENT_BYTES)


def _is_told(folder: Folder) -> bool:
    if folder.exitcode.exists():
        return True
    claim = folder.read_claim()
    return isinstance(claim, Run) and claim.boot_id == processes.boot_id() and claim.runner.is_alive()


def _told(folder: Folder) -> Iterator[CanonicalEvent]:
    try:
        told = open_canonical(folder)
    except FileNotFoundError:
        return
    except UnsafeFile:
        yield from _derived(folder, folder.read_order())
        return
    try:
        yield from read_events(told)
    finally:
        told.close()


def _derived(folder: Folder, order: Order) -> Iterator[CanonicalEvent]:
    moment = _last_output_at(folder) or clock.iso_micros(clock.now())
    narrator = Narrator(tools.load_decoder(order.tool), order.turn_index, now=lambda: moment)
    for path, narrate in ((folder.stdout, narrator.stdout), (folder.stderr, narrator.stderr)):
        try:
            for line in tail.lines_of(path):
                yield from narrate(line)
        except UnsafeFile as error:
            yield from narrator.stderr(str(error).encode())


def _judged(folder: Folder, order: Order, code: int | None) -> TurnState:
    verdict = outcome.judge(
        outcome.gather(events_of(folder)), returncode=code, interrupt=folder.read_interrupt()
    )
    return TurnState(
        turn_id=order.turn_id,
        turn_index=order.turn_index,
        status=verdict.status,
        started_at_utc=folder.launched_at_utc(),
        completed_at_utc=_last_output_at(folder) if code is None else _modified_at(folder.exitcode),
        returncode=code,
        completion_source=None if code is None else "process_exit",
        session_id=verdict.session_id,
        answer=verdict.answer,
        error=verdict.error,
        usage=verdict.usage,
        cost_usd=verdict.cost_usd,
    )


def _unclaimed(folder: Folder, order: Order) -> TurnState:
    """Ordered, and no bridge has taken it: somebody is about to start it, or was killed before that."""
    if _is_held(folder.path.parent / LOCK):
        return _plain(folder, order, "active")
    if folder.run.exists():  # claimed since it was looked for
        return derive(folder)
    reason = "whoever started it was killed; the next turn, or an interrupt, calls it off"
    return _plain(folder, order, "unknown", error=reason)


def _never_ran(folder: Folder, order: Order, reason: str) -> TurnState:
    status: Status = "interrupted" if folder.interrupt.exists() else "failed"
    return _plain(folder, order, status, error=f"never started: {reason}")


def _plain(folder: Folder, order: Order, status: Status, *, error: str | None = None) -> TurnState:
    return TurnState(
        turn_id=order.turn_id,
        turn_index=order.turn_index,
        status=status,
        started_at_utc=folder.launched_at_utc(),
        error=error,
    )


def _is_held(lock: Path) -> bool:
    try:
        descriptor = untrusted_files.open_descriptor(lock)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _last_output_at(folder: Folder) -> str | None:
    times = [_modified_at(path) for path in (folder.stdout, folder.stderr) if path.exists()]
    return max(times, default=None)


def _modified_at(path: Path) -> str:
    return clock.iso_micros(datetime.fromtimestamp(path.stat().st_mtime, UTC))

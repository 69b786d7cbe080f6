"""Derives the state of a turn from its files."""

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
from posthouse.turns.event_decoding import EventDecoder
from posthouse.turns.folder import Cancellation, Folder, Run
from posthouse.turns.tail import MAX_LINE_BYTES, Overlong, Tail
from posthouse.turns.turn_order import Order

Status = Literal["active", "completed", "failed", "interrupted", "unknown"]
CompletionSource = Literal["process_exit"]

#: Beside the turn folders; held while a turn is started, until its program has a pid.
LOCK = ".lock"
#: An event contains its record, at worst twice and with every character escaped.
_MAX_EVENT_BYTES = 16 * MAX_LINE_BYTES
#: Deeper than any decoded event, and shallow enough for the JSON encoder.
_MAX_EVENT_DEPTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnState:
    """The state of a turn at one moment."""

    turn_id: str
    turn_index: int
    status: Status
    started_at_utc: str | None = None
    completed_at_utc: str | None = None
    returncode: int | None = None
    #: None if the bridge was killed and the outcome was inferred from the program's output.
    completion_source: CompletionSource | None = None
    #: The provider's conversation id, if this turn has reported it.
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
        FileNotFoundError: There is no order.
    """
    order = folder.read_order()
    if (code := folder.read_exitcode()) is not None:
        return _final_state(folder, order, code)
    claim = folder.read_claim()
    if claim is None:
        return _unclaimed(folder, order)
    if isinstance(claim, Cancellation):
        return _never_ran(folder, order, claim.reason)
    if is_alive(claim):
        return _state(folder, order, "active")
    if not folder.process.exists():
        return _never_ran(folder, order, "the bridge was killed before it let the program go")
    # The bridge may have written the exit code since the check above.
    return _final_state(folder, order, folder.read_exitcode())


def is_alive(run: Run) -> bool:
    """Whether the program or its bridge still runs."""
    if run.boot_id != processes.boot_id():
        return False
    return run.runner.is_alive() or run.child.is_alive()


def events_of(folder: Folder) -> Iterator[CanonicalEvent]:
    """The turn's events so far, in order.

    A killed bridge may have left an incomplete event file. Then the events are decoded again from the
    program's output files, stdout before stderr, with the time of the last output.
    """
    if not _has_complete_events(folder):
        return _decoded_events(folder, folder.read_order())
    return _recorded_events(folder)


def read_events(events_file: Tail) -> Iterator[CanonicalEvent]:
    """The events added to a turn's `canonical-events.jsonl` since the last read."""
    for line in events_file.read():
        if not isinstance(line, Overlong):
            event = _event(line)
            if event is not None:
                yield event


def _event(line: bytes) -> CanonicalEvent | None:
    """The event in *line*; None for a torn or invalid line, which is skipped."""
    try:
        return CanonicalEvent.from_record(untrusted_files.decode_json(line, max_depth=_MAX_EVENT_DEPTH))
    except (ValueError, KeyError, TypeError):
        return None


def open_canonical(folder: Folder) -> Tail:
    """Raises FileNotFoundError while there are no events."""
    return Tail(folder.canonical, max_bytes=_MAX_EVENT_BYTES)


def _has_complete_events(folder: Folder) -> bool:
    if folder.exitcode.exists():
        return True
    claim = folder.read_claim()
    return isinstance(claim, Run) and claim.boot_id == processes.boot_id() and claim.runner.is_alive()


def _recorded_events(folder: Folder) -> Iterator[CanonicalEvent]:
    try:
        events_file = open_canonical(folder)
    except FileNotFoundError:
        return
    except UnsafeFile:
        yield from _decoded_events(folder, folder.read_order())
        return
    try:
        yield from read_events(events_file)
    finally:
        events_file.close()


def _decoded_events(folder: Folder, order: Order) -> Iterator[CanonicalEvent]:
    moment = _last_output_at(folder) or clock.iso_micros(clock.now())
    decoder = EventDecoder(tools.load_decoder(order.tool), order.turn_index, now=lambda: moment)
    for path, decode in ((folder.stdout, decoder.stdout), (folder.stderr, decoder.stderr)):
        try:
            for line in tail.lines_of(path):
                yield from decode(line)
        except UnsafeFile as error:
            yield from decoder.stderr(str(error).encode())


def _final_state(folder: Folder, order: Order, code: int | None) -> TurnState:
    result = outcome.infer_outcome(
        outcome.collect_evidence(events_of(folder)), returncode=code, interrupt=folder.read_interrupt()
    )
    return TurnState(
        turn_id=order.turn_id,
        turn_index=order.turn_index,
        status=result.status,
        started_at_utc=folder.launched_at_utc(),
        completed_at_utc=_last_output_at(folder) if code is None else _modified_at(folder.exitcode),
        returncode=code,
        completion_source=None if code is None else "process_exit",
        session_id=result.session_id,
        answer=result.answer,
        error=result.error,
        usage=result.usage,
        cost_usd=result.cost_usd,
    )


def _unclaimed(folder: Folder, order: Order) -> TurnState:
    """No bridge has claimed the turn: its start is in progress, or the starter was killed."""
    if _is_locked(folder.path.parent / LOCK):
        return _state(folder, order, "active")
    if folder.run.exists():  # claimed since the check in `derive`
        return derive(folder)
    reason = "its starter was killed; the next turn or an interrupt cancels it"
    return _state(folder, order, "unknown", error=reason)


def _never_ran(folder: Folder, order: Order, reason: str) -> TurnState:
    status: Status = "interrupted" if folder.interrupt.exists() else "failed"
    return _state(folder, order, status, error=f"never started: {reason}")


def _state(folder: Folder, order: Order, status: Status, *, error: str | None = None) -> TurnState:
    return TurnState(
        turn_id=order.turn_id,
        turn_index=order.turn_index,
        status=status,
        started_at_utc=folder.launched_at_utc(),
        error=error,
    )


def _is_locked(lock: Path) -> bool:
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

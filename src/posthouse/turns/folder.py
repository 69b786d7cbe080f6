"""The files of one turn: names, writers and readers.

The starter writes `order.json` and `prompt.txt`. `run.json` is the claim on the turn: it is created once,
either by the bridge that runs the turn or as a tombstone that cancels it. `process.json` and `exitcode` are
fixed by the contract: `exitcode` is the completion marker and is written last. `interrupt.json` records an
interrupt request and is written before the first signal is sent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from posthouse.errors import Conflict, InvalidInput
from posthouse.support import clock, files, untrusted_files
from posthouse.support.processes import Process
from posthouse.support.untrusted_files import UnsafeFile
from posthouse.turns.turn_order import Order

#: The arguments may contain a prompt of some megabytes.
_MAX_ORDER_BYTES = 64 << 20

T = TypeVar("T")


class BadTurnRecord(Conflict):
    """A file of the turn has invalid content; the agent's programs can write there, too."""

    code = "bad_turn_record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The processes of a turn: the bridge, and the program, which leads its own process group."""

    boot_id: str
    runner: Process
    child: Process


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancellation:
    """The tombstone of a turn that never ran and never will."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptRecord:
    """A request to end the turn."""

    requested_at_utc: str
    #: `interrupt`, `kill`, `limit`, or an event of the pane.
    reason: str


class Folder:
    """One turn folder. Methods that claim or mark return whether this call did it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.order = path / "order.json"
        self.prompt = path / "prompt.txt"
        self.run = path / "run.json"
        self.process = path / "process.json"
        self.interrupt = path / "interrupt.json"
        self.stdout = path / "stdout.jsonl"
        self.stderr = path / "stderr.log"
        self.canonical = path / "canonical-events.jsonl"
        self.exitcode = path / "exitcode"

    def read_order(self) -> Order:
        """Read the order, without the prompt.

        Raises:
            FileNotFoundError: There is no order.
            BadTurnRecord: The content is invalid. Other readers raise it, too.
            UnsafeFile: It is not a regular file. Other readers raise it, too.
        """
        return _decoded(
            self.order,
            lambda: Order.from_record(untrusted_files.read_json(self.order, max_bytes=_MAX_ORDER_BYTES)),
        )

    def claim(self, run: Run) -> bool:
        """Claim the turn for this bridge. False: it was claimed or cancelled before."""
        record = {
            "boot_id": run.boot_id,
            "runner_pid": run.runner.pid,
            "runner_start_ticks": run.runner.start_ticks,
            "child_pid": run.child.pid,
            "child_start_ticks": run.child.start_ticks,
        }
        return files.create_json(self.run, record)

    def cancel_unstarted(self, reason: str) -> bool:
        """Cancel the turn durably unless a bridge has claimed it. False: a bridge has."""
        return files.create_json(self.run, {"called_off": reason})

    def read_claim(self) -> Run | Cancellation | None:
        record = _object(self.run)
        return None if record is None else _decoded(self.run, lambda: _claim_of(record))

    def write_process(self, run: Run) -> None:
        record = {
            "runner_pid": run.runner.pid,
            "child_pid": run.child.pid,
            "launched_at_utc": clock.iso_micros(clock.now()),
        }
        files.write_json(self.process, record, durable=True)

    def launched_at_utc(self) -> str | None:
        record = _object(self.process)
        return None if record is None else _decoded(self.process, lambda: _text(record, "launched_at_utc"))

    def mark_interrupt(self, reason: str) -> bool:
        """Record an interrupt request durably. The first reason stays. False: there was one before."""
        return files.create_json(
            self.interrupt, {"requested_at_utc": clock.iso_micros(clock.now()), "reason": reason}
        )

    def read_interrupt(self) -> InterruptRecord | None:
        record = _object(self.interrupt)
        return None if record is None else _decoded(self.interrupt, lambda: _interrupt_of(record))

    def write_exitcode(self, code: int) -> None:
        files.write_whole(self.exitcode, f"{code}\n".encode(), durable=True)

    def read_exitcode(self) -> int | None:
        try:
            return _decoded(self.exitcode, lambda: int(untrusted_files.read_text(self.exitcode)))
        except FileNotFoundError:
            return None


def _object(path: Path) -> dict[str, Any] | None:
    """The JSON object in *path*, or None when the file is not there."""
    try:
        record = _decoded(path, lambda: untrusted_files.read_json(path))
    except FileNotFoundError:
        return None
    if not isinstance(record, dict):
        raise BadTurnRecord(f"{path} is not a JSON object")
    return record


def _decoded(path: Path, decode: Callable[[], T]) -> T:
    try:
        return decode()
    except UnsafeFile:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, InvalidInput) as error:
        raise BadTurnRecord(f"{path} can't be used: {type(error).__name__}: {error}") from error


def _claim_of(record: dict[str, Any]) -> Run | Cancellation:
    if "called_off" in record:
        return Cancellation(reason=_text(record, "called_off"))
    return Run(
        boot_id=_text(record, "boot_id"),
        runner=Process(_number(record, "runner_pid"), _number(record, "runner_start_ticks")),
        child=Process(_number(record, "child_pid"), _number(record, "child_start_ticks")),
    )


def _interrupt_of(record: dict[str, Any]) -> InterruptRecord:
    return InterruptRecord(requested_at_utc=_text(record, "requested_at_utc"), reason=_text(record, "reason"))


def _text(record: dict[str, Any], key: str) -> str:
    if not isinstance(record[key], str):
        raise TypeError(f"{key} is not a text")
    return str(record[key])


def _number(record: dict[str, Any], key: str) -> int:
    # A negative pid would stand for a whole group.
    if type(record[key]) is not int or record[key] <= 0:
        raise TypeError(f"{key} is not a positive number")
    return int(record[key])

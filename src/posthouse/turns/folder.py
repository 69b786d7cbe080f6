"""The files of one turn: their names, who writes each, and how they are read back.

`order.json` and `prompt.txt` come from the starter. `run.json` is the claim on the turn: it is created
once, by the bridge that carries the turn out or by whoever calls it off, never by both. `process.json` and
`exitcode` are the contract's: the second is the completion marker and is written last. `interrupt.json`
says that the end was asked for, and is there before the first signal is sent.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posthouse.support import clock, files, untrusted_files
from posthouse.support.processes import Process
from posthouse.turns.order import Order

#: A prompt of some megabytes is part of an order's arguments.
_MAX_ORDER_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Who carries the turn out: the bridge and the program, which leads its own process group."""

    boot_id: str
    runner: Process
    child: Process


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledOff:
    """The turn never ran and never will."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """Somebody asked for the end of the turn."""

    requested_at_utc: str
    #: `interrupt`, `kill`, `limit`, or what happened to the pane.
    reason: str


class Folder:
    """One turn folder. Methods that claim or mark say whether this call did it."""

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
        """Raises FileNotFoundError when nothing was ordered here."""
        return Order.from_record(untrusted_files.read_json(self.order, max_bytes=_MAX_ORDER_BYTES))

    def claim(self, run: Run) -> bool:
        """Take the turn for this bridge. False: it was carried out or called off before."""
        record = {
            "boot_id": run.boot_id,
            "runner_pid": run.runner.pid,
            "runner_start_ticks": run.runner.start_ticks,
            "child_pid": run.child.pid,
            "child_start_ticks": run.child.start_ticks,
        }
        return files.create_json(self.run, record)

    def call_off(self, reason: str) -> bool:
        """Make sure that a turn nobody has claimed never runs. False: a bridge was first."""
        return files.create_json(self.run, {"called_off": reason})

    def read_claim(self) -> Run | CalledOff | None:
        record = read_json(self.run)
        if record is None:
            return None
        if "called_off" in record:
            return CalledOff(reason=record["called_off"])
        return Run(
            boot_id=record["boot_id"],
            runner=Process(record["runner_pid"], record["runner_start_ticks"]),
            child=Process(record["child_pid"], record["child_start_ticks"]),
        )

    def write_process(self, run: Run) -> None:
        record = {
            "runner_pid": run.runner.pid,
            "child_pid": run.child.pid,
            "launched_at_utc": clock.iso_micros(clock.now()),
        }
        files.write_json(self.process, record, durable=True)

    def launched_at_utc(self) -> str | None:
        record = read_json(self.process)
        return None if record is None else str(record["launched_at_utc"])

    def mark_interrupt(self, reason: str) -> bool:
        """Say durably that the end was asked for. The first reason stays."""
        return files.create_json(
            self.interrupt, {"requested_at_utc": clock.iso_micros(clock.now()), "reason": reason}
        )

    def read_interrupt(self) -> Interrupt | None:
        record = read_json(self.interrupt)
        return None if record is None else Interrupt(**record)

    def write_exitcode(self, code: int) -> None:
        files.write_whole(self.exitcode, f"{code}\n".encode(), durable=True)

    def read_exitcode(self) -> int | None:
        try:
            return int(untrusted_files.read_text(self.exitcode))
        except FileNotFoundError:
            return None


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in *path*, or None when the file is not there."""
    try:
        record = untrusted_files.read_json(path)
    except FileNotFoundError:
        return None
    return record if isinstance(record, dict) else None

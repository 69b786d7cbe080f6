"""Processes by identity rather than pid: liveness, process trees, termination.

A pid is reused; a pid with its start time in one boot is not. Reads /proc, so Linux only.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

#: Retries, and the delay between them, for an environment that reads as empty.
_EXEC_READS = 20
_EXEC_SECONDS = 0.002
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Process:
    """One process of this boot, told apart from a later one with the same pid."""

    pid: int
    #: Clock ticks after boot (field 22 of /proc/<pid>/stat).
    start_ticks: int

    def is_alive(self) -> bool:
        """Whether it still runs. A zombie has ended."""
        entry = _stat(self.pid)
        return entry is not None and entry.start_ticks == self.start_ticks and entry.state not in "ZX"


@dataclass(frozen=True, slots=True)
class _Stat:
    name: str
    state: str
    parent: int
    group: int
    start_ticks: int


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def identify(pid: int) -> Process | None:
    """The process that has *pid* now, or None."""
    entry = _stat(pid)
    return Process(pid, entry.start_ticks) if entry else None


def parent_of(pid: int) -> int | None:
    """The pid of the parent; None when *pid* is gone."""
    entry = _stat(pid)
    return entry.parent if entry else None


def started_at(process: Process) -> datetime:
    """When it was started, by the clock as it is set now."""
    ticks = os.sysconf("SC_CLK_TCK")
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - process.start_ticks / ticks
    return datetime.now(UTC) - timedelta(seconds=age)


def names_below(pid: int) -> list[str]:
    """The names of *pid* and its descendants, parents first: process name and name of the executable."""
    found: list[str] = []
    for process in tree(pid):
        if (entry := _stat(process.pid)) is not None:
            found += [entry.name, _program(process.pid)]
    return [name for name in dict.fromkeys(found) if name]


def tree(pid: int) -> list[Process]:
    """*pid* and its descendants, parents first. Empty when it is gone."""
    entries = _all()
    children: dict[int, list[int]] = {}
    for child, entry in entries.items():
        children.setdefault(entry.parent, []).append(child)
    found: list[Process] = []
    waiting = [pid] if pid in entries else []
    while waiting:
        current = waiting.pop()
        found.append(Process(current, entries[current].start_ticks))
        waiting.extend(children.get(current, ()))
    return found


def group(pgid: int) -> list[Process]:
    """The live members of a process group."""
    return [
        Process(pid, entry.start_ticks)
        for pid, entry in _all().items()
        if entry.group == pgid and entry.state not in "ZX"
    ]


def has_variable(pid: int, name: str, value: str) -> bool:
    """Whether the process was started with that variable. False when it is gone or unreadable."""
    try:
        environment = _environment(pid)
    except OSError:
        return False
    return f"{name}={value}".encode() in environment.split(b"\0")


def _environment(pid: int) -> bytes:
    """The variables that the process was started with.

    During exec a process has none for an instant, so an empty environment is read again.
    """
    for _ in range(_EXEC_READS):
        if environment := Path(f"/proc/{pid}/environ").read_bytes():
            return environment
        Path(f"/proc/{pid}/exe").readlink()  # fails for kernel threads, which have no environment
        time.sleep(_EXEC_SECONDS)
    return b""


def with_variable(name: str, value: str) -> list[Process]:
    """Every live process that was started with that variable; unreadable ones are skipped."""
    return [
        Process(pid, entry.start_ticks)
        for pid, entry in _all().items()
        if entry.state not in "ZX" and has_variable(pid, name, value)
    ]


def signal_all(processes: Iterable[Process], number: signal.Signals) -> None:
    """Signal each that is still alive; a reused pid is skipped."""
    for process in processes:
        if process.is_alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)


def wait_gone(processes: Iterable[Process], *, seconds: float) -> list[Process]:
    """Wait until all have ended; return those that have not."""
    deadline = time.monotonic() + seconds
    left = [process for process in processes if process.is_alive()]
    while left and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        left = [process for process in left if process.is_alive()]
    return left


def end(processes: Iterable[Process], *, grace_seconds: float = 3.0) -> list[Process]:
    """SIGTERM, then SIGKILL after *grace_seconds*. Returns the survivors (normally none)."""
    targets = list(processes)
    signal_all(targets, signal.SIGTERM)
    left = wait_gone(targets, seconds=grace_seconds)
    signal_all(left, signal.SIGKILL)
    return wait_gone(left, seconds=2.0)


def wait_exit(pid: int, *, seconds: float) -> bool:
    """Wait for any process, child or not, to end. True when it has."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return wait_ended(descriptor, seconds=seconds)
    finally:
        os.close(descriptor)


def wait_ended(descriptor: int, *, seconds: float) -> bool:
    """Wait for the process of a pidfd to end. True when it has."""
    return bool(select.select([descriptor], [], [], seconds)[0])


def command_line(pid: int) -> list[str]:
    """The arguments that the process was started with; empty when it has ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return words.decode(errors="surrogateescape").split("\0")[:-1]


def _program(pid: int) -> str:
    """The file name of its executable as started; empty when it is gone."""
    try:
        first = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return ""
    return Path(first.decode(errors="replace")).name


def _all() -> dict[int, _Stat]:
    found: dict[int, _Stat] = {}
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    for pid in pids:
        if entry := _stat(pid):
            found[pid] = entry
    return found


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name is in parentheses and may contain parentheses.
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return _Stat(
        name=name,
        state=fields[0],
        parent=int(fields[1]),
        group=int(fields[2]),
        start_ticks=int(fields[19]),
    )

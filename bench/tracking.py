"""What watching many TUIs costs, and how soon a change is published, against polling the same panes.

    python bench/tracking.py [--panes 50] [--seconds 15]

Cheap programs repaint ten times a second, show dialogs, or do nothing. The tracker is what a gateway runs, in
one process for all panes; the poller asks for each pane twice a second. CPU is of that process alone, in
percent of one core, after all have started. Ends with 1 when a goal is missed.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import uvloop

from posthouse import tools
from posthouse.agent.tui import TuiAdapter
from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.contracts.manifest import TmuxSurface
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.control.tui_history import TuiEventWriter
from posthouse.sessions import publication
from posthouse.sessions import session as sessions
from posthouse.terminal import pane as panes
from posthouse.terminal import session as terminal
from posthouse.terminal.client import NoServer, Server, Tmux
from posthouse.testing import leftovers, painter, running_gateways
from posthouse.tracking.tracker import TuiState

_POLL_SECONDS = 0.5
_START_SECONDS = 120.0
_SETTLE_SECONDS = 3.0
_STARTED = "started"
Times = Mapping[str, list[tuple[float, str]]]


def main() -> int:
    """Measure; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description="the cost and the latency of watching TUIs")
    parser.add_argument("--panes", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--watch", choices=["tracker", "poller"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.watch == "tracker":
        uvloop.run(_track(given.folder))
    elif given.watch == "poller":
        _poll(given.folder)
    return 0 if given.watch else leftovers.watched(lambda: _measure(given.panes, given.seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One measurement, and what it must keep to; None: it is only shown."""

    mode: str
    watcher: str = "tracker"
    #: Latency is measured on fewer panes: fifty painters would measure the scheduler of a small machine.
    divisor: int = 1
    most_percent: float | None = None
    most_p95_ms: float | None = None


_RUNS = (
    Run(mode="busy", watcher="poller"),
    Run(mode="busy", most_percent=20.0),
    Run(mode="busy", divisor=5, most_p95_ms=50.0),
    Run(mode="quiet", divisor=5, most_p95_ms=250.0),
    Run(mode="idle", most_percent=1.0),
)


def _measure(count: int, seconds: float) -> int:
    return 1 if sum([_missed(run, max(count // run.divisor, 1), seconds) for run in _RUNS]) else 0


def _missed(run: Run, count: int, seconds: float) -> int:
    """Measure and print *run*; how many goals it missed."""
    with _panes(run.mode, count) as folder:
        cpu, latencies = _watched(folder, run.watcher, seconds)
    line = f"{run.watcher:8} {count:3} {run.mode:5}: {cpu:5.1f} % of a core"
    p95 = statistics.quantiles(latencies, n=20)[18] if len(latencies) > 1 else 0.0
    if latencies:
        line += f", {len(latencies)} changes published after p50 {statistics.median(latencies):.0f} ms"
        line += f", p95 {p95:.0f} ms"
    print(line, flush=True)
    goals = ((cpu, run.most_percent), (p95, run.most_p95_ms))
    missed = [(found, goal) for found, goal in goals if goal is not None and found > goal]
    for found, goal in missed:
        print(f"  missed: {found:.1f} is over {goal:g}", flush=True)
    return len(missed)


def _watched(folder: Path, watcher: str, seconds: float) -> tuple[float, list[float]]:
    """The CPU of a watcher in percent, and how late it published each change, in milliseconds."""
    command = [sys.executable, __file__, "--watch", watcher, "--folder", str(folder)]
    process = subprocess.Popen(command)
    try:
        _await_started(folder, process)
        begun, before = time.time(), _cpu_seconds(process.pid)
        time.sleep(seconds)
        used, ended = _cpu_seconds(process.pid) - before, time.time()
    finally:
        process.terminate()
        process.wait()
    painted = {log.stem: _read(log) for log in folder.glob("*.log")}
    published = {log.stem: _read(log) for log in folder.glob("*.published")}
    # What changed in the last moment may not have been published yet.
    return 100 * used / seconds, _latencies(painted, published, begun, ended - 2 * _POLL_SECONDS)


def _await_started(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Return when the watcher has seen every pane, and what that cost is past."""
    deadline = time.monotonic() + _START_SECONDS
    while not (folder / _STARTED).exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the watcher did not start")
        time.sleep(_POLL_SECONDS)
    time.sleep(_SETTLE_SECONDS)


def _latencies(painted: Times, published: Times, begun: float, ended: float) -> list[float]:
    found: list[float] = []
    for name, changes in painted.items():
        for (at, state), (next_at, _) in zip(changes, [*changes[1:], (float("inf"), "")], strict=True):
            if begun <= at < ended:
                told = [
                    when for when, what in published.get(name, []) if what == state and at <= when < next_at
                ]
                # A change that was never published counts as long as it lasted.
                found.append(1000 * (min(told, default=min(next_at, ended)) - at))
    return found


def _read(log: Path) -> list[tuple[float, str]]:
    lines = [line.split() for line in log.read_text().splitlines()]
    return [(float(at), state) for at, state in lines]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # With its children, which are what a poller is made of.
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


async def _track(folder: Path) -> None:
    """Watch as gateways do, and note each new state."""
    for root in _roots(folder):
        session = sessions.read(next(root.rglob("manifest.json")))
        adapter = TuiAdapter(session)
        attach = publication.attach_of(session)
        control = TuiControl(adapter, attach, TrackingTimings(), events=TuiEventWriter(_Silent()))
        control.subscribe(_Noted(folder / f"{root.name}.published").note)
        await adapter.open(control.observe)
    (folder / _STARTED).touch()
    await asyncio.Event().wait()


def _roots(folder: Path) -> list[Path]:
    """The folders of the sessions; each is named like its tmux session."""
    return sorted(path for path in folder.glob("root-*") if path.is_dir())


class _Silent:
    """A journal that nobody reads."""

    def add(self, kind: str, /, **fields: object) -> None: ...


class _Noted:
    """Writes down when a state was published."""

    def __init__(self, log: Path) -> None:
        self._descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._state = ""

    def note(self, belief: TuiState) -> None:
        self.see(belief.inferred.state)

    def see(self, state: str) -> None:
        if state != self._state:
            self._state = state
            painter.note(self._descriptor, state)


def _poll(folder: Path) -> None:
    """Ask for every pane, one process each, again and again."""
    server = Tmux(Server(str(folder / "tmux")))
    tool = tools.load("scripted")
    noted: dict[str, _Noted] = {}
    while True:
        begun = time.monotonic()
        for root in _roots(folder):
            about = server.run("display-message", "-p", "-t", f"={root.name}:0", panes.FORMAT)
            rows = server.run("capture-pane", "-p", "-e", "-t", f"={root.name}:0")
            state = tool.read_surface(panes.screen_of(panes.split(about)[0], rows)).state
            noted.setdefault(root.name, _Noted(folder / f"{root.name}.published")).see(state)
        (folder / _STARTED).touch()
        time.sleep(max(0.0, _POLL_SECONDS - (time.monotonic() - begun)))


@contextmanager
def _panes(mode: str, count: int) -> Iterator[Path]:
    """A folder with *count* sessions whose programs paint, on a tmux server of their own."""
    folder = Path(tempfile.mkdtemp(prefix="ph-", dir=leftovers.homes()))
    tmux = Tmux(Server(str(folder / "tmux")))
    try:
        for number in range(count):
            _session(folder, f"root-{number:02d}", tmux, mode)
        yield folder
    finally:
        try:
            tmux.run("kill-server")
        except NoServer:
            print("the tmux server was gone before the end", flush=True)
        shutil.rmtree(folder, ignore_errors=True)


def _session(folder: Path, name: str, tmux: Tmux, mode: str) -> None:
    made = running_gateways.session_in(folder / name)
    pane = terminal.create(tmux, name, working_directory=folder, environment={}, columns=80, rows=24)
    argv = (sys.executable, "-I", "-S", painter.__file__, mode, str(folder / f"{name}.log"))
    started = terminal.start_program(tmux, pane, argv, environment={}, working_directory=folder)
    manifest = msgspec.structs.replace(
        made.manifest,
        tmux_session_name=name,
        tmux=TmuxSurface(session_name=name),
        runtime=msgspec.structs.replace(made.manifest.runtime, agent_pid=started.pid),
        backend_state={sessions.TMUX_SOCKET: str(folder / "tmux")},
    )
    sessions.write(made.root, manifest)
    (made.root / "hooks").mkdir()


if __name__ == "__main__":
    sys.exit(main())

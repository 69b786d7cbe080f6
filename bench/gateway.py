"""How fast a gateway accepts, what it costs, and that a long queue changes neither.

    python bench/gateway.py [--rounds 5] [--idle-seconds 12] [--quick]

Two gateways beside two headless agents whose turn goes on all the while, one with an empty queue and one with
ten thousand requests in it, and single durable SQLite commits on the same disk, all in turn, so that a noisy
machine disturbs all of them alike. Medians of the rounds are held against the goals; exits 1 when one is
missed. `--quick` is one short round.
"""

import argparse
import asyncio
import json
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from posthouse.contracts import gateway_files as gf
from posthouse.gateway_lifecycle import attach
from posthouse.gateway_lifecycle.session_hooks import GatewaySessionHooks
from posthouse.queue import Request, open_queue
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.terminal.client import Server, Tmux
from posthouse.testing import leftovers, load
from posthouse.turns import runner

_QUEUED = 10_000
_BODY = json.dumps({"kind": "submit_prompt", "payload": {"prompt": "hello"}}).encode()
_COMMITS = "raw commits"
_Round = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is promised of one number, and what ten thousand queued requests may do to it."""

    name: str
    limit: float
    #: True: at least the limit. False: at most.
    is_rate: bool = False
    #: How far the full queue may be from the empty one, beyond a third of the latter.
    slack: float = 0.0


GOALS = (
    Goal(name="accept on 8 connections, of raw commits", limit=0.65, is_rate=True),
    Goal(name="accept on 1 connection, of raw commits", limit=0.2, is_rate=True),
    Goal(name="CPU of /v1/status, of /health", limit=1.5),
    Goal(name="CPU from attach to /health, s", limit=0.6),
    # A third of next to nothing is noise.
    Goal(name="CPU while idle, s a minute", limit=0.05, slack=0.015),
    Goal(name="files written while idle or asked", limit=0),
    Goal(name="RSS, MiB", limit=55),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is done in one round."""

    accepted: int
    asked: int
    commits: int
    idle_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """One gateway, and the queue that it starts each round with."""

    session: Session
    registry: Registry
    #: None: an empty one.
    queue: Path | None

    def restart(self) -> attach.AttachResult:
        """End the gateway, put the queue in place, and attach again."""
        attach.detach(self.session, self.registry)
        path = self.session.gateway_root / gf.QUEUE
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        if self.queue is not None:
            shutil.copy(self.queue, path)
        return attach.attach(self.session, self.registry, environment=os.environ)


def main() -> int:
    """Print every number with its goal; 1 when one is missed."""
    arguments = _arguments()
    sizes = Sizes(accepted=800, asked=1500, commits=400, idle_seconds=arguments.idle_seconds)
    if arguments.quick:
        sizes = Sizes(accepted=40, asked=50, commits=20, idle_seconds=0.2)
    with tempfile.TemporaryDirectory(prefix="posthouse-bench-") as folder, ExitStack() as stack:
        benches = stack.enter_context(_benches(Path(folder)))
        rounds = [
            _round(benches, sizes, Path(folder)) for _ in range(1 if arguments.quick else arguments.rounds)
        ]
    medians = [
        {name: statistics.median(one[column][name] for one in rounds) for name in rounds[0][column]}
        for column in range(len(benches))
    ]
    commits, busy = medians[0].pop(_COMMITS), os.getloadavg()[0]
    print(f"median of {len(rounds)}, load {busy:.1f}, {commits:.0f} raw commits a second")
    return _report(*medians)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="what a gateway costs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--idle-seconds", type=float, default=12.0)
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it works")
    return parser.parse_args()


@contextmanager
def _benches(folder: Path) -> Iterator[tuple[Bench, Bench]]:
    """The two gateways' sessions, each in the middle of a turn that does not end."""
    roots = Roots(registry=folder / "registry", runtime=folder / "runtime", mailbox=folder / "mailbox")
    registry, server = Registry(roots.registry), Server(str(folder / "tmux"))
    agents = Agents(roots, registry, server, GatewaySessionHooks())
    asyncio.run(_fill(folder / "template.sqlite"))
    made: list[Bench] = []
    try:
        for name, queue in (("empty", None), ("full", folder / "template.sqlite")):
            spec = LaunchSpec(tool="scripted", name=name, headless=True, working_directory=folder)
            made.append(Bench(session=agents.launch(spec), registry=registry, queue=queue))
            _occupy(made[-1])
        yield made[0], made[1]
    finally:
        for bench in made:
            attach.detach(bench.session, registry)
            GatewaySessionHooks().end_turn(bench.session)
        Tmux(server).run("kill-server")


async def _fill(path: Path) -> None:
    queue = await open_queue(path)
    request = Request(kind="submit_prompt", payload={"prompt": "hello"}, epoch=1)
    await asyncio.gather(*[queue.put(request) for _ in range(_QUEUED)])
    await queue.close()


def _occupy(bench: Bench) -> None:
    """Begin a turn that goes on until it is killed, so that accepted requests only wait."""
    started = attach.attach(bench.session, bench.registry, environment=os.environ)
    assert started.gateway_port is not None
    body = json.dumps({"kind": "submit_prompt", "payload": {"prompt": "[[wait 36000]]"}}).encode()
    content = load.request(started.gateway_port, "POST", "/v1/requests", body)
    load.seconds_for(started.gateway_port, content, count=1, connections=1, status=202)
    while runner.active(bench.session.turns_root) is None:
        time.sleep(0.05)


def _round(benches: tuple[Bench, Bench], sizes: Sizes, folder: Path) -> list[_Round]:
    raw = _commit_rate(folder / "raw.sqlite", sizes.commits)
    measured = [_measure(bench, sizes, raw) for bench in benches]
    again = _commit_rate(folder / "raw.sqlite", sizes.commits)
    measured[0][_COMMITS] = (raw + again) / 2
    _idle(benches, measured, sizes.idle_seconds)
    return measured


def _commit_rate(path: Path, count: int) -> float:
    """Durable commits of one small row each, a second."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS rows (id TEXT PRIMARY KEY, body TEXT)")
        begun = time.perf_counter()
        for _ in range(count):
            connection.execute("INSERT INTO rows VALUES (?, ?)", (os.urandom(8).hex(), _BODY))
        return count / (time.perf_counter() - begun)


def _measure(bench: Bench, sizes: Sizes, raw: float) -> _Round:
    started = bench.restart()
    instance = attach.live(bench.session)
    assert instance is not None
    assert started.gateway_port is not None
    begin, port, pid = load.cpu_seconds(instance.pid), started.gateway_port, instance.pid
    order = load.request(port, "POST", "/v1/requests", _BODY)
    eight = load.seconds_for(port, order, count=sizes.accepted, connections=8, status=202)
    one = load.seconds_for(port, order, count=sizes.accepted // 8, connections=1, status=202)
    costs: dict[str, float] = {}
    for path in ("/health", "/v1/status", "/health", "/v1/status"):
        content, before = load.request(port, "GET", path), load.cpu_seconds(pid)
        load.seconds_for(port, content, count=sizes.asked, connections=1, status=200)
        costs[path] = costs.get(path, 0.0) + load.cpu_seconds(pid) - before
    return {
        GOALS[0].name: sizes.accepted / eight / raw,
        GOALS[1].name: sizes.accepted // 8 / one / raw,
        GOALS[2].name: costs["/v1/status"] / costs["/health"],
        GOALS[3].name: begin,
        GOALS[6].name: load.resident_bytes(pid) / (1 << 20),
    }


def _idle(benches: tuple[Bench, Bench], measured: list[_Round], seconds: float) -> None:
    """Let both gateways do nothing but answer one question, and see what that costs."""
    instances = [attach.live(bench.session) for bench in benches]
    time.sleep(0.5)  # what the last questions changed is written by now
    before = [_written(bench) for bench in benches]
    spent = [load.cpu_seconds(one.pid) for one in instances if one]
    time.sleep(seconds)
    for column, (bench, instance) in enumerate(zip(benches, instances, strict=True)):
        assert instance is not None
        idle = load.cpu_seconds(instance.pid) - spent[column]
        content = load.request(instance.port, "GET", "/v1/status")
        load.seconds_for(instance.port, content, count=10, connections=1, status=200)
        after = _written(bench)
        measured[column][GOALS[4].name] = idle * 60 / seconds
        measured[column][GOALS[5].name] = len(set(after.items()) ^ set(before[column].items()))


def _written(bench: Bench) -> dict[Path, tuple[int, int]]:
    """Every file of the gateway, and how to tell that it was written."""
    files = [path for path in bench.session.gateway_root.rglob("*") if path.is_file()]
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


def _report(empty: _Round, full: _Round) -> int:
    missed = 0
    print(f"{'':<42}{'empty':>8}{'10,000':>9}{'goal':>9}   verdict")
    for goal in GOALS:
        verdict = _verdict(goal, empty[goal.name], full[goal.name])
        missed += verdict != "ok"
        bound = f"{'≥' if goal.is_rate else '≤'} {goal.limit:g}"
        print(f"{goal.name:<42}{empty[goal.name]:>8.3f}{full[goal.name]:>9.3f}{bound:>9}   {verdict}")
    return 1 if missed else 0


def _verdict(goal: Goal, empty: float, full: float) -> str:
    if (empty < goal.limit) if goal.is_rate else (empty > goal.limit):
        return "MISSED"
    worse = empty - full if goal.is_rate else full - empty
    return "MISSED: a long queue changes it" if worse > empty / 3 + goal.slack else "ok"


if __name__ == "__main__":
    sys.exit(leftovers.watched(main))

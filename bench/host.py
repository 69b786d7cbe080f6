"""Fifty gateways in one process against fifty processes: memory, idle cost, and the time after a crash.

    python bench/host.py [--count 50] [--idle-seconds 60] [--quick]

The same agents, a fifth of them TUIs, get their gateways first in one host, then in a process each. Every
gateway has answered a question before it is measured. Memory is resident memory, and beside it what is a
process's own of it, since processes share what they have of the interpreter. After a kill -9 of the host, or
of all the processes, the clock runs until each gateway answers `/health` again: the host's keeper brings it
back by itself, the processes are attached again by eight hands. Exits 1 when a goal is missed. `--quick` is
two gateways and a moment.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from posthouse.clients.gateway import GatewayClient
from posthouse.contracts import gateway_files as gf
from posthouse.errors import PosthouseError
from posthouse.gateway_lifecycle import attach, host_client
from posthouse.sessions.session import Session
from posthouse.support import processes
from posthouse.terminal.client import Server, Tmux
from posthouse.testing import leftovers, load
from posthouse.testing.scripted_agents import House, house_in

_HANDS = 8
_RECOVERY_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one way of running all gateways costs."""

    resident_mib: float
    own_mib: float
    idle_cpu_seconds_a_minute: float
    recovery_seconds: float


#: What is promised of the host, by the name of the number.
GOALS = {"resident_mib": 250.0, "idle_cpu_seconds_a_minute": 0.5, "recovery_seconds": 2.0}
_NAMES = {
    "resident_mib": "resident memory, MiB",
    "own_mib": "memory that is its own (PSS), MiB",
    "idle_cpu_seconds_a_minute": "CPU while idle, s a minute",
    "recovery_seconds": "from kill -9 to all healthy, s",
}


class Row:
    """Agents in a row, and their gateways."""

    def __init__(self, house: House, count: int) -> None:
        self._house = house
        self.runtime = house.agents.roots.runtime
        for number in range(count):
            house.launch(headless=number % 5 != 0, name=f"agent{number:02}")

    def attach(self, *, hosted: bool) -> None:
        """Have every gateway serve, and have asked it something."""
        with ThreadPoolExecutor(_HANDS) as hands:
            list(hands.map(lambda session: self._attach(session, hosted), self._house.sessions))

    def detach(self) -> None:
        with ThreadPoolExecutor(_HANDS) as hands:
            list(hands.map(lambda one: attach.detach(one, self._house.registry), self._house.sessions))

    def pids(self) -> list[int]:
        """The processes that serve, each once."""
        return sorted({instance.pid for instance in self._instances()})

    def ports(self) -> list[int]:
        return [instance.port for instance in self._instances()]

    def _instances(self) -> list[gf.CurrentInstance]:
        return [instance for session in self._house.sessions if (instance := attach.live(session))]

    def _attach(self, session: Session, hosted: bool) -> None:
        made = attach.attach(
            session, self._house.registry, environment=os.environ, mode="detached_process", hosted=hosted
        )
        assert made.gateway_port is not None
        GatewayClient("127.0.0.1", made.gateway_port).status()


def main() -> int:
    """Print both ways side by side with the goals; 1 when one is missed."""
    arguments = _arguments()
    count, idle = (2, 0.2) if arguments.quick else (arguments.count, arguments.idle_seconds)
    with tempfile.TemporaryDirectory(prefix="posthouse-bench-") as folder, _row(Path(folder), count) as row:
        row.attach(hosted=True)
        one = _measure(row, idle)
        row.detach()
        row.attach(hosted=False)
        many = _measure(row, idle)
    print(f"{count} gateways, load {os.getloadavg()[0]:.1f}")
    return _report(one, many)


@contextmanager
def _row(folder: Path, count: int) -> Iterator[Row]:
    server = Server(str(folder / "tmux"))
    house = house_in(folder, server)
    try:
        made = Row(house, count)
        yield made
        made.detach()
    finally:
        house.end()
        if (host := host_client.pid_of(house.agents.roots.runtime)) is not None:
            os.kill(host, signal.SIGTERM)
            processes.wait_exit(host, seconds=30.0)
        Tmux(server).run("kill-server")


def _measure(row: Row, idle_seconds: float) -> Measured:
    pids, ports = row.pids(), row.ports()
    time.sleep(1.0)  # what the last questions changed is written by now
    before = sum(load.cpu_seconds(pid) for pid in pids)
    time.sleep(idle_seconds)
    spent = sum(load.cpu_seconds(pid) for pid in pids) - before
    return Measured(
        resident_mib=sum(load.resident_bytes(pid) for pid in pids) / (1 << 20),
        own_mib=sum(load.own_bytes(pid) for pid in pids) / (1 << 20),
        idle_cpu_seconds_a_minute=spent * 60 / idle_seconds,
        recovery_seconds=_recover(row, pids, ports),
    )


def _recover(row: Row, pids: Sequence[int], ports: Sequence[int]) -> float:
    """Kill them all; how long until every port answers again."""
    is_hosted = host_client.pid_of(row.runtime) in pids
    begun = time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        processes.wait_exit(pid, seconds=10.0)
    if not is_hosted:
        row.attach(hosted=False)
    waiting = list(ports)
    while waiting and time.monotonic() < begun + _RECOVERY_SECONDS:
        waiting = [port for port in waiting if not _is_healthy(port)]
    return time.monotonic() - begun


def _is_healthy(port: int) -> bool:
    try:
        GatewayClient("127.0.0.1", port, timeout_seconds=0.2).health()
    except PosthouseError:
        return False
    return True


def _report(one: Measured, many: Measured) -> int:
    missed = 0
    print(f"{'':<36}{'one host':>10}{'processes':>11}{'ratio':>8}{'goal':>9}   verdict")
    for name, told in _NAMES.items():
        host, alone, goal = getattr(one, name), getattr(many, name), GOALS.get(name)
        verdict = "" if goal is None else "ok" if host <= goal else "MISSED"
        missed += verdict == "MISSED"
        bound = "" if goal is None else f"≤ {goal:g}"
        ratio = f"{alone / host:.1f}×" if host else "-"
        print(f"{told:<36}{host:>10.2f}{alone:>11.2f}{ratio:>8}{bound:>9}   {verdict}")
    return 1 if missed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--idle-seconds", type=float, default=60.0)
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(leftovers.watched(main))

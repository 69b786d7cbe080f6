"""One server over many agents: what a list costs, what idling costs, and turns under a server that is killed.

    python bench/server.py [--agents 500] [--idle-seconds 60] [--turning 50] [--turns 1000] [--kills 3]
    python bench/server.py --quick

A list of all agents is asked for on connections that stay open; its cost is the server's CPU time for one
answer. Then scripted headless agents are launched over HTTP and take turns, some under ids of the asker's,
some without, while the server is killed again and again. At the end every prompt that an agent received must
belong to one turn: a turn that says `completed` was received once, one that says `never started` not at all.
Ends with 1 when a goal is missed or a turn is not accounted for. `--quick` is three agents, twelve turns and
one kill.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from posthouse.contracts import managed_agent_files as mf
from posthouse.contracts import names
from posthouse.sessions import brain
from posthouse.sessions.brain import Brain
from posthouse.support import files
from posthouse.terminal.client import Server, Tmux
from posthouse.testing import leftovers, load
from posthouse.testing.scripted_agents import House, house_in
from posthouse.testing.server import Answer, ServerProcess, ask
from posthouse.testing.truth import TruthLog
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for
from posthouse.tools.scripted.profile import TOOL

LIST_RATIO, LIST_MICROSECONDS = 3.0, 5.0
IDLE_SECONDS_A_MINUTE = 0.1
_LISTS = 1000
_AGAIN_SECONDS = 0.05


@dataclass(slots=True)
class Verdicts:
    """What was measured, and whether it is what was promised."""

    missed: int = 0

    def tell(self, what: str, value: float, goal: float, unit: str) -> None:
        is_met = value <= goal
        self.missed += not is_met
        print(f"{what:<44}{value:>12.2f} {unit:<6} goal {goal:>10.2f}  {'ok' if is_met else 'MISSED'}")


@dataclass(slots=True)
class Tally:
    """What the askers saw."""

    done: int = 0
    lost: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, *, done: int = 0, lost: int = 0) -> None:
        with self.lock:
            self.done += done
            self.lost += lost


def main() -> int:
    """Print every number with its goal; 1 when one is missed."""
    given = _arguments()
    verdicts = Verdicts()
    with _house() as house:
        house.launch(headless=True, name="agent")
        server = ServerProcess(house.agents)
        server.start()
        try:
            _measure_lists(house, server, given, verdicts)
            _measure_turns(house, server, given, verdicts)
        finally:
            server.kill()
    return 1 if verdicts.missed else 0


def _measure_lists(
    house: House, server: ServerProcess, given: argparse.Namespace, verdicts: Verdicts
) -> None:
    """The cost of a list of one, of a list of all, and of nothing at all with all of them there."""
    one = _list_cost(server, 1, given.lists)
    _multiply(house, given.agents)
    every = _list_cost(server, given.agents, given.lists)
    print(f"a list of 1: {one:.0f} µs of CPU")
    goal = LIST_RATIO * one + LIST_MICROSECONDS * given.agents
    verdicts.tell(f"a list of {given.agents}", every, goal, "µs")
    time.sleep(1.0)  # what the last questions changed is written by now
    before = load.cpu_seconds(server.pid)
    time.sleep(given.idle_seconds)
    spent = (load.cpu_seconds(server.pid) - before) * 60 / given.idle_seconds
    verdicts.tell(f"idle with {given.agents} records, a minute", spent, IDLE_SECONDS_A_MINUTE, "s")


def _list_cost(server: ServerProcess, agents: int, count: int) -> float:
    """Microseconds of the server's CPU for one list."""
    while len(_ask(server, "GET", "/houmao/agents").json["agents"]) != agents:
        time.sleep(_AGAIN_SECONDS)
    content = load.request(server.port, "GET", "/houmao/agents")
    load.seconds_for(server.port, content, count=20, connections=1, status=200)
    before = load.cpu_seconds(server.pid)
    load.seconds_for(server.port, content, count=count, connections=1, status=200)
    return (load.cpu_seconds(server.pid) - before) / count * 1e6


def _multiply(house: House, count: int) -> None:
    """Register the one agent under many names: the server reads a record and a manifest for each."""
    folder = house.registry.root / names.LIVE_AGENTS
    record = json.loads((folder / house.sessions[0].agent_id / names.RECORD_FILE).read_bytes())
    for number in range(1, count):
        agent_id = f"copy-{number}"
        copy = {**record, "agent_id": agent_id, "agent_name": f"agent-{number}"}
        files.private_folder(folder / agent_id)
        files.write_json(folder / agent_id / names.RECORD_FILE, copy, durable=False)


def _measure_turns(
    house: House, server: ServerProcess, given: argparse.Namespace, verdicts: Verdicts
) -> None:
    """Turns under a server that is killed, and whether each of them is accounted for."""
    agents = [_launched(house, server, number) for number in range(given.turning)]
    tally, begun = Tally(), time.monotonic()
    killer = threading.Thread(target=_kill_at_times, args=(server, tally, given.turns, given.kills))
    killer.start()
    with ThreadPoolExecutor(given.turning) as askers:
        shares = [len(range(number, given.turns, given.turning)) for number in range(given.turning)]
        list(askers.map(lambda agent, share: _take_turns(server, agent, share, tally), agents, shares))
    killer.join()
    took = time.monotonic() - begun
    print(f"{tally.done} turns of {given.turning} agents in {took:.0f} s, {tally.lost} answers lost")
    verdicts.tell("turns that are not accounted for", _unaccounted(server, agents), 0, "")
    verdicts.tell("turns that were not taken", given.turns - tally.done, 0, "")


def _launched(house: House, server: ServerProcess, number: int) -> dict[str, Any]:
    folder = house.folder / f"agent-{number}"
    (folder / "home").mkdir(parents=True)
    prepared = Brain(
        tool="scripted",
        home_path=folder / "home",
        home_variable=TOOL.home_variable,
        executable=TOOL.executable(),
        environment={},
        credentials={},
    )
    brain.write(folder / "brain.yaml", prepared)
    brain.write_role(folder / "definitions", "tester", "You test.")
    order = {
        "tool": "scripted",
        "working_directory": str(folder),
        "agent_def_dir": str(folder / "definitions"),
        "brain_manifest_path": str(folder / "brain.yaml"),
        "role_name": "tester",
        "agent_name": f"agent{number:02}",
    }
    answer = _ask(server, "POST", "/houmao/agents/headless/launches", order)
    assert answer.status == HTTPStatus.OK, answer.body
    launched: dict[str, Any] = answer.json
    return {**launched, "home": str(folder / "home"), "number": number}


def _kill_at_times(server: ServerProcess, tally: Tally, turns: int, kills: int) -> None:
    """Kill the server after each equal part of the turns, and begin it again."""
    for number in range(1, kills + 1):
        while tally.done < turns * number // (kills + 1):
            time.sleep(_AGAIN_SECONDS)
        server.kill()
        server.start()


def _take_turns(server: ServerProcess, agent: dict[str, Any], share: int, tally: Tally) -> None:
    """Have *agent* take its share; whoever has no id for a turn asks anew when an answer is lost."""
    path = f"/houmao/agents/{agent['tracked_agent_id']}/turns"
    names_turns = agent["number"] % 2 == 0
    for number in range(share):
        attempt = 0
        while True:
            words = f"{number}-{attempt}"
            headers = {names.TURN_ID_HEADER: f"turn-{words}"} if names_turns else {}
            turn_id = _asked(server, path, {"prompt": f"[[say turn {words}]]"}, headers, tally)
            if turn_id is not None and _outcome(server, f"{path}/{turn_id}") == "completed":
                break
            # A turn that has a name is asked for again under it, unless it is known to have failed.
            attempt += turn_id is not None or not names_turns
        tally.count(done=1)


def _asked(
    server: ServerProcess, path: str, order: dict[str, Any], headers: dict[str, str], tally: Tally
) -> str | None:
    """The turn's id; None when the server was killed before it told one."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        try:
            answer = ask(server.base_url, "POST", path, order, headers)
        except OSError:
            tally.count(lost=1)
            time.sleep(_AGAIN_SECONDS)
            return None
        if answer.status == HTTPStatus.OK:
            return str(answer.json["turn_id"])
        assert answer.status in (HTTPStatus.CONFLICT, HTTPStatus.SERVICE_UNAVAILABLE), answer.body
        assert time.monotonic() < deadline, f"refused for {LIMIT_SECONDS} s: {answer.body!r}"
        time.sleep(_AGAIN_SECONDS)


def _outcome(server: ServerProcess, path: str) -> str:
    """How a turn ended, once it has."""
    while (status := _ask(server, "GET", path).json["status"]) == "active":
        time.sleep(_AGAIN_SECONDS)
    return str(status)


def _ask(server: ServerProcess, method: str, path: str, body: object = None) -> Answer:
    """An answer, from this server or the next."""
    while True:
        try:
            return ask(server.base_url, method, path, body)
        except OSError:
            time.sleep(_AGAIN_SECONDS)


def _unaccounted(server: ServerProcess, agents: list[dict[str, Any]]) -> int:
    """How often a turn's record and what its agent received contradict each other; each is told."""
    wrong: list[str] = []
    kinds: Counter[str] = Counter()
    for agent in agents:
        kept = server.root / mf.MANAGED_AGENTS / agent["tracked_agent_id"]
        # A turn is told to be over when its artifacts say so; its last record follows.
        wait_for(lambda kept=kept: not (kept / mf.ACTIVE_TURN).exists())  # type: ignore[misc]
        received = Counter(TruthLog(Path(agent["home"]) / "truth.jsonl").prompts())
        for path in sorted((kept / mf.TURNS).glob("*.json")):
            record = json.loads(path.read_bytes())
            kinds[record["status"]] += 1
            times = received.pop(_prompt_of(record), 0)
            if not _is_possible(record, times):
                wrong.append(f"received {times} times: {record}")
        wrong += [f"{agent['tracked_agent_id']} received {prompt!r} without a turn" for prompt in received]
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(f"records: {told}", *wrong, sep="\n")
    return len(wrong)


def _prompt_of(record: dict[str, Any]) -> str:
    path = Path(record["turn_artifact_dir"]) / "prompt.txt"
    return path.read_text() if path.exists() else ""


def _is_possible(record: dict[str, Any], times: int) -> bool:
    """A completed turn was received once, one that never started not at all, one that was cut off perhaps."""
    if record["status"] == "completed":
        return times == 1
    never_started = (record["error"] or "").startswith("never started")
    return record["status"] != "active" and times <= (0 if never_started else 1)


@contextmanager
def _house() -> Iterator[House]:
    with tempfile.TemporaryDirectory(prefix="posthouse-bench-") as folder:
        tmux = Server(str(Path(folder) / "tmux"))
        house = house_in(Path(folder), tmux)
        try:
            yield house
        finally:
            house.end()
            Tmux(tmux).run("kill-server")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--agents", type=int, default=500, help="in the list")
    parser.add_argument("--lists", type=int, default=_LISTS, help="asked for")
    parser.add_argument("--idle-seconds", type=float, default=60.0)
    parser.add_argument("--turning", type=int, default=50, help="agents that take turns")
    parser.add_argument("--turns", type=int, default=1000, help="taken by all of them")
    parser.add_argument("--kills", type=int, default=3, help="of the server meanwhile")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.quick:
        given.agents, given.lists, given.idle_seconds = 20, 20, 0.2
        given.turning, given.turns, given.kills = 3, 12, 1
    return given


if __name__ == "__main__":
    sys.exit(leftovers.watched(main))

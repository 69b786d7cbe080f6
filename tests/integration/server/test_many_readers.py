"""Records that change under readers: everybody gets a true answer, and the last one is the truth."""

import threading
from pathlib import Path

from msgspec import structs

from posthouse.contracts import registry as r
from posthouse.sessions.agents import Agents
from posthouse.support import clock
from posthouse.testing import server as server_module
from posthouse.testing.running_gateways import session_in
from posthouse.testing.server_with_gateways import agents_in, record_of
from posthouse.testing.waiting import wait_for

#: Half of them stay as they are; the others come, stop and go.
AGENTS = 40
ROUNDS = 4
READERS = 8


def records(folder: Path) -> list[r.Record]:
    """All of one session's shape, each with a name of its own."""
    one = record_of(session_in(folder))
    return [
        structs.replace(one, agent_id=f"id-{number:03}", agent_name=f"agent-{number:03}")
        for number in range(AGENTS)
    ]


def stopped(record: r.Record) -> r.Record:
    moment = clock.iso_seconds(clock.now())
    return structs.replace(
        record,
        lifecycle=r.Lifecycle(
            state="stopped", relaunchable=True, state_updated_at=moment, stopped_at=moment, stop_reason="test"
        ),
        terminal=structs.replace(record.terminal, current_session_name=None),
        liveness=None,
    )


def churn(agents: Agents, changing: list[r.Record]) -> None:
    """Let them come, stop and go, and be there in the end."""
    for _ in range(ROUNDS):
        for record in changing:
            agents.registry.publish(record)
        for record in changing[::2]:
            agents.registry.publish(stopped(record))
        for record in changing[::3]:
            agents.registry.remove(record.agent_id)
    for record in changing:
        agents.registry.publish(record)


def wrong(server: server_module.Served, steady: list[r.Record], number: int) -> list[str]:
    """What one reader hears that can't be true."""
    found: list[str] = []
    one, other = steady[number % len(steady)], number % AGENTS
    listed = server.get("/houmao/agents?include=all")
    shown = server.get(f"/houmao/agents/{one.agent_name}")
    passing = server.get(f"/houmao/agents/agent-{other:03}")
    identities = listed.json["agents"] if listed.status == 200 else []
    ids = [identity["agent_id"] for identity in identities]
    if len(ids) != len(set(ids)) or not {record.agent_id for record in steady} <= set(ids):
        found.append(f"a list of {len(ids)}, {listed.status}")
    if any(identity["agent_name"][-3:] != identity["agent_id"][-3:] for identity in identities):
        found.append("a mixture of two agents")
    if (shown.status, shown.json.get("agent_id")) != (200, one.agent_id):
        found.append(f"{one.agent_name}: {shown.status} {shown.body!r}")
    if passing.status not in (200, 404) or passing.json.get("agent_id", f"id-{other:03}") != f"id-{other:03}":
        found.append(f"agent-{other:03}: {passing.status} {passing.body!r}")
    return found


def test_readers_never_hear_anything_wrong(tmp_path: Path) -> None:
    """While records are written, stopped and removed, and afterwards everybody is there."""
    agents = agents_in(tmp_path)
    everybody = records(tmp_path)
    steady, changing = everybody[::2], everybody[1::2]
    for record in everybody:
        agents.registry.publish(record)
    heard: list[str] = []
    is_over = threading.Event()

    def read(server: server_module.Served, first: int) -> None:
        number = first
        while not is_over.is_set():
            heard.extend(wrong(server, steady, number))
            number += READERS

    with server_module.serving(agents) as server:
        readers = [threading.Thread(target=read, args=(server, first)) for first in range(READERS)]
        for reader in readers:
            reader.start()
        try:
            churn(agents, changing)
        finally:
            is_over.set()
            for reader in readers:
                reader.join()
        wait_for(
            lambda: (
                [one["lifecycle_state"] for one in server.get("/houmao/agents?include=all").json["agents"]]
                == ["active"] * AGENTS
            )
        )

    assert heard == []

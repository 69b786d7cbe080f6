"""Turns of agents that have a gateway: accepted there, one record here, and no turn taken twice."""

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from posthouse.agent import headless_order
from posthouse.agent.adapter import Prompt
from posthouse.contracts import managed_agent_files as mf
from posthouse.sessions.launch_files import ManagedBy
from posthouse.sessions.session import Session
from posthouse.terminal.client import Server
from posthouse.testing.scripted_agents import House, house_in
from posthouse.testing.server import Served, serving
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for
from posthouse.turns import runner

REF = "abcdef012345"
AGENT = f"/houmao/agents/{REF}"


@pytest.fixture
def house(tmp_path: Path, tmux_server: Server) -> Iterator[House]:
    made = house_in(tmp_path, tmux_server)
    yield made
    made.end()


@pytest.fixture
def server(house: House) -> Iterator[Served]:
    with serving(house.agents) as made:
        yield made


def attached(house: House, owner: ManagedBy | None = None) -> Session:
    made = house.launch(headless=True, managed_by=owner)
    house.attach(made)
    return made


def owned(house: House, server: Served) -> Session:
    """An agent of that server's, with a gateway."""
    made = attached(house, ManagedBy(api_base_url=server.base_url, agent_ref=REF))
    wait_for(lambda: server.get(AGENT).status == HTTPStatus.OK)
    return made


def ended(server: Served, agent: str, turn_id: str) -> dict[str, Any]:
    told: list[dict[str, Any]] = []

    def is_over() -> bool:
        told.append(server.get(f"{agent}/turns/{turn_id}").json)
        return bool(told[-1]["status"] != "active")

    wait_for(is_over, told=lambda: str(told[-1]))
    return told[-1]


def records(server: Served, agent_id: str) -> list[str]:
    folder = Path(server.service.instance.server_root) / mf.MANAGED_AGENTS / agent_id / mf.TURNS
    return sorted(path.stem for path in folder.glob("*.json"))


def test_a_turn_of_an_owned_agent_goes_through_its_gateway_and_back(house: House, server: Served) -> None:
    """One record, one row, one turn, and the gateway's own requests take the same way."""
    gpu = owned(house, server)
    accepted = server.post(f"{AGENT}/turns", {"prompt": "[[say by the server]]"})
    turn_id = accepted.json["turn_id"]

    assert accepted.status == HTTPStatus.OK
    assert accepted.json["detail"] == "the agent's gateway has accepted the turn"
    assert ended(server, AGENT, turn_id)["history_summary"] == "by the server"
    wait_for(lambda: house.rows(gpu) == [("submit_prompt", "completed", None)])
    assert (records(server, REF), house.truth(gpu).prompts()) == ([turn_id], ["[[say by the server]]"])

    client = house.client(gpu)
    request_id = client.submit_prompt("[[say by the gateway]]")["request_id"]
    receipt = client.receipt(request_id, wait_seconds=LIMIT_SECONDS)
    assert (receipt["state"], receipt["result"]["answer"]) == ("completed", "by the gateway")
    assert records(server, REF) == sorted([turn_id, receipt["turn_id"]])
    report = ended(server, AGENT, receipt["turn_id"])
    assert (report["turn_index"], report["status"]) == (2, "completed")
    assert len(list(gpu.turns_root.glob("turn-*"))) == 2


def test_a_request_that_meets_a_turn_begins_when_the_agent_is_free(house: House, server: Served) -> None:
    """The server refuses while somebody else's turn runs; what the gateway accepted is tried again."""
    gpu = owned(house, server)
    theirs = headless_order.order_of(headless_order.count_turn(gpu), Prompt(text="[[wait 600]]"))
    client = house.client(gpu)
    running = runner.start(gpu.tmux, gpu.tmux_session_name, gpu.turns_root, theirs)
    assert server.post(f"{AGENT}/turns", {"prompt": "[[say no]]"}).status == HTTPStatus.CONFLICT
    first = client.submit_prompt("[[say first]]")["request_id"]
    running.interrupt()
    assert client.receipt(first, wait_seconds=LIMIT_SECONDS)["state"] == "completed"
    assert house.truth(gpu).prompts().count("[[say first]]") == 1


def test_an_agent_of_nobody_takes_its_turns_by_its_own_gateway(house: House, server: Served) -> None:
    """The server records the turn first; the gateway begins it without asking back."""
    gpu = attached(house)
    agent = f"/houmao/agents/{gpu.agent_id}"
    wait_for(lambda: server.get(agent).status == HTTPStatus.OK)
    turn_id = server.post(f"{agent}/turns", {"prompt": "[[say hello]]"}).json["turn_id"]

    assert ended(server, agent, turn_id)["history_summary"] == "hello"
    wait_for(lambda: house.rows(gpu) == [("submit_prompt", "completed", None)])
    assert (records(server, gpu.agent_id), house.truth(gpu).prompts()) == ([turn_id], ["[[say hello]]"])

"""Headless agents launched over HTTP: what they get, what is refused, and what a failure leaves: nothing."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts import managed_agent_files as mf
from posthouse.contracts import names
from posthouse.sessions import brain, publication, session
from posthouse.sessions.agents import Agents
from posthouse.sessions.brain import Brain
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Tmux
from posthouse.testing.server import Served, serving
from posthouse.testing.waiting import wait_for
from posthouse.tools.scripted import profile

LAUNCHES = "/houmao/agents/headless/launches"


@pytest.fixture
def server(agents: Agents) -> Iterator[Served]:
    with serving(agents) as made:
        yield made


@pytest.fixture
def order(tmp_path: Path) -> dict[str, Any]:
    """A whole launch of the scripted tool."""
    tool = profile.TOOL
    prepared = Brain(
        tool="scripted",
        home_path=tmp_path / "home",
        home_variable=tool.home_variable,
        executable=tool.executable(),
        environment={},
        credentials={},
    )
    (tmp_path / "home").mkdir()
    brain.write(tmp_path / "brain.yaml", prepared)
    brain.write_role(tmp_path / "definitions", "tester", "You test.")
    return {
        "tool": "scripted",
        "working_directory": str(tmp_path),
        "agent_def_dir": str(tmp_path / "definitions"),
        "brain_manifest_path": str(tmp_path / "brain.yaml"),
        "role_name": "tester",
    }


def left(agents: Agents) -> list[object]:
    """Whatever exists of agents."""
    sessions = [*(agents.roots.runtime / "sessions").glob("*/*")]
    return [*agents.registry.records(), *sessions]


def test_a_launched_agent_is_the_servers_own(server: Served, agents: Agents, order: dict[str, Any]) -> None:
    """It is found by every name at once, takes turns, and a gateway attached later asks here for them."""
    wishes = {
        "agent_name": "gpu",
        "agent_id": "the-gpu",
        "headless_display_style": "json",
        "headless_display_detail": "detail",
        "mailbox": {"transport": "filesystem", "address": "gpu@houmao.localhost"},
    }
    answer = server.post(LAUNCHES, {**order, **wishes})
    assert answer.status == HTTPStatus.OK, answer.body
    told = answer.json
    tracked = told["tracked_agent_id"]
    found = session.read(Path(told["manifest_path"]))

    assert (len(tracked), int(tracked, 16) >= 0) == (12, True)
    assert set(told) == {
        "success",
        "tracked_agent_id",
        "identity",
        "manifest_path",
        "session_root",
        "detail",
    }
    for ref in (tracked, "the-gpu", "gpu", "HOUMAO-gpu", found.session_id):
        assert server.get(f"/houmao/agents/{ref}").json == told["identity"]
    attach = publication.attach_of(found)
    assert attach.backend_metadata.managed_api_base_url == server.base_url
    assert attach.backend_metadata.managed_agent_ref == tracked
    plan = found.manifest.launch_plan
    assert plan.metadata["headless_display_style"] == "json"
    assert plan.metadata["headless_display_detail"] == "detail"
    assert plan.mailbox is not None
    assert plan.mailbox.address == "gpu@houmao.localhost"
    kept = Path(server.service.instance.server_root) / mf.MANAGED_AGENTS / tracked
    authority = json.loads((kept / mf.AUTHORITY).read_bytes())
    assert (authority["agent_id"], authority["backend"]) == ("the-gpu", found.manifest.backend)

    turn = server.post(f"/houmao/agents/{tracked}/turns", {"prompt": "[[say hello]]"}).json
    report = f"/houmao/agents/gpu/turns/{turn['turn_id']}"
    wait_for(lambda: server.get(report).json["status"] == "completed")


def test_without_an_id_the_tracked_one_is_the_agents(server: Served, order: dict[str, Any]) -> None:
    """A second agent of the same name is refused unless it is given an id of its own."""
    told = server.post(LAUNCHES, {**order, "agent_name": "gpu"}).json
    assert told["identity"]["agent_id"] == told["tracked_agent_id"]

    assert server.post(LAUNCHES, {**order, "agent_name": "gpu"}).status == HTTPStatus.CONFLICT
    assert server.post(LAUNCHES, {**order, "agent_name": "gpu", "agent_id": "own"}).status == HTTPStatus.OK


WRONG: list[dict[str, Any]] = [
    {"working_directory": "/no/such/folder"},
    {"working_directory": "relative"},
    {"agent_def_dir": "/no/such/folder"},
    {"brain_manifest_path": "/no/such.yaml"},
    {"tool": "claude"},
    {"tool": "nothing"},
    {"role_name": "nobody"},
    {"mailbox": {"transport": "filesystem", "stalwart_base_url": "http://x"}},
    {"mailbox": {"transport": "pigeon"}},
    {"headless_display_style": "loud"},
    {"agent_name": "a/b"},
    {"gateway": True},
]
NEEDED = ("tool", "working_directory", "agent_def_dir", "brain_manifest_path", "role_name")


def test_what_cannot_be_launched_is_refused_and_leaves_nothing(
    server: Served, agents: Agents, order: dict[str, Any]
) -> None:
    """422 for missing folders and files, another tool, an unknown wish, and for each needed field."""
    without = [{name: value for name, value in order.items() if name != field} for field in NEEDED]
    refused = [{**order, **wrong} for wrong in WRONG] + without + [{**order, field: None} for field in NEEDED]
    answers = [server.post(LAUNCHES, wrong) for wrong in refused]

    assert [answer.status for answer in answers] == [422] * len(refused)
    assert left(agents) == []


def test_what_cannot_be_published_is_taken_down_again(
    server: Served, agents: Agents, order: dict[str, Any]
) -> None:
    """503, and neither a session nor a record is left; nor when the server can't keep the agent."""
    records = agents.registry.root / names.LIVE_AGENTS
    (records / "taken").write_text("in the way")
    answer = server.post(LAUNCHES, {**order, "agent_id": "taken"})
    assert answer.status == HTTPStatus.SERVICE_UNAVAILABLE, answer.body
    assert left(agents) == []

    kept = Path(server.service.instance.server_root) / mf.MANAGED_AGENTS
    kept.write_text("in the way")
    assert server.post(LAUNCHES, order).status == HTTPStatus.SERVICE_UNAVAILABLE
    assert agents.registry.records() == []
    assert terminal.pane_states(Tmux(agents.server)) == {}

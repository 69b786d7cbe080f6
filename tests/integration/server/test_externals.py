"""An agent of another machine: two servers, and a command line that knows only one of them."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from posthouse.cli import dispatch
from posthouse.cli.wiring import Wiring
from posthouse.clients.server import AsyncServerClient, ServerClient, ServerConflict
from posthouse.contracts import names
from posthouse.errors import Conflict, Denied, NotFound
from posthouse.gateway_lifecycle.session_hooks import GatewaySessionHooks
from posthouse.sessions.agents import Agents
from posthouse.sessions.externals import ExternalAgents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.testing.server import Served, serving
from posthouse.testing.waiting import wait_for


@pytest.fixture
def there(agents: Agents, tmp_path: Path) -> Iterator[Served]:
    """The other machine, with the agent `worker`."""
    agents.launch(LaunchSpec(tool="scripted", name="worker", headless=True, working_directory=tmp_path))
    with serving(agents) as made:
        yield made


@pytest.fixture
def home(agents: Agents, tmp_path: Path) -> Agents:
    """This machine, without agents."""
    folder = tmp_path / "here"
    roots = Roots(registry=folder / "registry", runtime=folder / "runtime", mailbox=folder / "mailbox")
    return Agents(roots, Registry(roots.registry), agents.server, GatewaySessionHooks())


@pytest.fixture
def here(home: Agents) -> Iterator[Served]:
    with serving(home) as made:
        yield made


class Line:
    """The command line of this machine, in this process."""

    def __init__(self, home: Agents, folder: Path, output: pytest.CaptureFixture[str]) -> None:
        environment = {"HOME": str(folder), names.REGISTRY_DIR: str(home.roots.registry)}
        self._wiring = Wiring(environment | {names.RUNTIME_DIR: str(home.roots.runtime)}, folder)
        self._output = output

    def run(self, *words: str) -> str:
        assert dispatch.run("p", [*words], self._wiring) == 0
        return self._output.readouterr().out

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))


@pytest.fixture
def line(home: Agents, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Line:
    return Line(home, tmp_path, capsys)


def registered(line: Line, there: Served) -> dict[str, Any]:
    words = ["--name", "far", "--api-base-url", there.base_url, "--agent-ref", "worker"]
    made: dict[str, Any] = line.json("agents", "external", "register", *words)
    return made


def test_it_is_talked_to_through_this_machines_server(there: Served, here: Served, line: Line) -> None:
    """Listed under its name here, asked over there, and neither started nor stopped from here."""
    record = registered(line, there)
    server = ServerClient(here.base_url, timeout_seconds=60.0)
    wait_for(lambda: len(server.agents().agents) == 1)

    [who] = server.agents().agents
    assert (who.agent_name, who.tracked_agent_id, who.lifecycle_owner) == (
        "far",
        record["external_agent_id"],
        "remote",
    )
    assert (who.management_kind, who.remote_agent_ref) == ("external_communication_only", "worker")
    assert who.remote_pair_api_base_url == there.base_url
    assert server.agent("far") == who == asyncio.run(_agent(here, "HOUMAO-far"))

    accepted = server.submit_turn("far", "hello [[say from afar]]")
    assert accepted.tracked_agent_id == record["external_agent_id"]
    wait_for(lambda: server.turn("far", accepted.turn_id).status == "completed")
    assert server.turn("far", accepted.turn_id).history_summary == "from afar"
    assert b"from afar" in server.turn_artifact("far", accepted.turn_id, "stdout")
    assert server.gateway("far").status()["gateway_health"] == "not_attached"
    with pytest.raises(ServerConflict, match="accepts only requests from here"):
        server.gateway("far").attach()
    with pytest.raises(NotFound):
        server.turn("far", "no-such-turn")


async def _agent(server: Served, ref: str) -> Any:
    return await AsyncServerClient(server.base_url, timeout_seconds=60.0).agent(ref)


def test_commands_ask_its_own_server(there: Served, line: Line, home: Agents) -> None:
    """Without a server of this machine; what manages an agent is refused with words."""
    record = registered(line, there)

    [listed] = line.json("agents", "list")["agents"]
    assert (listed["agent_name"], listed["management_kind"]) == ("far", "external_communication_only")
    turn_id = line.run("agents", "turn", "submit", "far", "hello [[say done there]]").strip()
    wait_for(lambda: line.json("agents", "turn", "status", "far", turn_id)["status"] == "completed")
    assert line.json("agents", "turn", "status", "far", turn_id)["history_summary"] == "done there"
    for words in (("stop",), ("relaunch",), ("logs",), ("gateway", "attach")):
        with pytest.raises(Denied, match="on its own machine"):
            line.run("agents", *words, "far")

    assert line.json("agents", "external", "verify", "far")["verified_at_utc"] >= record["verified_at_utc"]
    line.run("agents", "external", "remove", "far")
    assert ExternalAgents(home.roots.registry).entries() == []


def test_a_name_is_given_once_and_chains_are_refused(there: Served, here: Served, line: Line) -> None:
    """Nothing is written for an agent that is not there, has a name that is taken, or lives elsewhere."""
    registered(line, there)
    server = ServerClient(here.base_url)
    wait_for(lambda: len(server.agents().agents) == 1)
    words = ["agents", "external", "register", "--api-base-url"]

    with pytest.raises(Conflict, match="is already 'worker'"):
        line.run(*words, there.base_url, "--name", "far", "--agent-ref", "worker")
    with pytest.raises(NotFound):
        line.run(*words, there.base_url, "--name", "other", "--agent-ref", "nobody")
    with pytest.raises(Conflict, match="register it at"):
        line.run(*words, here.base_url, "--name", "other", "--agent-ref", "far")
    assert [one["local_name"] for one in line.json("agents", "external", "list")["external_agents"]] == [
        "far"
    ]

"""The server's process, asked over HTTP about real agents."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts import server_files as cf
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.session import Session
from posthouse.testing.waiting import LIMIT_SECONDS


class Asked:
    """A running server, by its address."""

    def __init__(self, process: subprocess.Popen[bytes], instance: dict[str, Any]) -> None:
        self.process = process
        self.instance = instance

    def ask(self, path: str, method: str = "GET") -> tuple[int, Any]:
        request = urllib.request.Request(self.instance["api_base_url"] + path, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())


def command(agents: Agents) -> list[str]:
    roots = ["--registry-root", str(agents.roots.registry), "--runtime-root", str(agents.roots.runtime)]
    return [sys.executable, "-m", "posthouse.server", "--port", "0", *roots]


@contextmanager
def serving(agents: Agents) -> Iterator[Asked]:
    process = subprocess.Popen(command(agents), stdin=subprocess.DEVNULL)
    try:
        yield Asked(process, _instance(agents.roots.runtime, process))
    finally:
        process.kill()
        process.wait()


def _instance(runtime_root: Path, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended"
        for path in (runtime_root / cf.SERVERS).glob(f"*/{cf.CURRENT_INSTANCE}"):
            instance: dict[str, Any] = json.loads(path.read_bytes())
            if instance["pid"] == process.pid:
                return instance
        time.sleep(0.02)
    raise AssertionError("the server does not say where it is")


@pytest.fixture
def server(agents: Agents) -> Iterator[Asked]:
    with serving(agents) as made:
        yield made


def launch(agents: Agents, folder: Path, name: str, **more: Any) -> Session:
    return agents.launch(
        LaunchSpec(tool="scripted", name=name, headless=True, working_directory=folder, **more)
    )


def until(is_true: Any) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not is_true():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.02)


def test_it_says_what_it_is_and_where(agents: Agents, server: Asked) -> None:
    """Clients know the service by its name; the file and the route say the same."""
    assert server.ask("/health") == (200, {"status": "ok", "houmao_service": "houmao-passive-server"})
    assert server.ask("/houmao/server/current-instance") == (200, server.instance)
    root = Path(server.instance["server_root"])
    assert root.parent == agents.roots.runtime / cf.SERVERS
    assert server.instance["api_base_url"] == f"http://{root.name.replace('-', ':')}"


def test_agents_are_listed_and_found(agents: Agents, server: Asked, tmp_path: Path) -> None:
    """By every name, as they come; unknown and ambiguous names are told apart."""
    made = launch(agents, tmp_path, "gpu")
    until(lambda: server.ask("/houmao/agents")[1]["agents"] != [])

    status, listing = server.ask("/houmao/agents")
    [one] = listing["agents"]
    assert (status, one["tracked_agent_id"], one["transport"], one["agent_name"]) == (
        200,
        made.agent_id,
        "headless",
        "gpu",
    )
    for ref in (made.agent_id, "gpu", "HOUMAO-gpu", made.session_id):
        assert server.ask(f"/houmao/agents/{ref}") == (200, one)
    assert server.ask("/houmao/agents/nobody")[0] == 404

    launch(agents, tmp_path, "gpu", agent_id="other")
    until(lambda: len(server.ask("/houmao/agents")[1]["agents"]) == 2)
    status, refused = server.ask("/houmao/agents/gpu")
    assert (status, refused["agent_ids"]) == (409, sorted([made.agent_id, "other"]))
    assert set(refused) == {"detail", "agent_ids"}


def test_a_list_can_be_narrowed(agents: Agents, server: Asked, tmp_path: Path) -> None:
    """By tool and transport; those that stopped are shown only on request."""
    launch(agents, tmp_path, "gpu")
    until(lambda: server.ask("/houmao/agents")[1]["agents"] != [])
    agents.stop(agents.find(name="gpu"))
    until(lambda: server.ask("/houmao/agents")[1]["agents"] == [])

    everybody = server.ask("/houmao/agents?include=all&tool=scripted&transport=headless")[1]["agents"]
    assert [one["lifecycle_state"] for one in everybody] == ["stopped"]
    assert server.ask("/houmao/agents?include=all&tool=claude") == (200, {"agents": []})
    assert server.ask("/houmao/agents?transport=smoke")[0] == 422


def test_a_second_server_on_one_root_is_refused(agents: Agents, server: Asked) -> None:
    """It names the first, which goes on."""
    second = subprocess.run(command(agents), capture_output=True, text=True, timeout=LIMIT_SECONDS)

    assert second.returncode == 1
    told = f"server: process {server.process.pid} already serves {agents.roots.runtime}; stop it first\n"
    assert second.stderr == told
    assert server.ask("/health")[0] == 200


@pytest.mark.parametrize("way", ["request", "signal"])
def test_it_ends_when_it_is_told_to_and_agents_stay(
    way: str, agents: Agents, server: Asked, tmp_path: Path
) -> None:
    """Its instance file goes with it; the agents do not notice."""
    launch(agents, tmp_path, "gpu")
    if way == "request":
        assert server.ask("/houmao/server/shutdown", "POST") == (200, {"status": "ok"})
    else:
        os.kill(server.process.pid, signal.SIGTERM)

    assert server.process.wait(LIMIT_SECONDS) == 0
    assert not (Path(server.instance["server_root"]) / cf.CURRENT_INSTANCE).exists()
    assert [agent.health for agent in agents.registered()] == ["healthy"]


def test_a_server_that_was_killed_leaves_nothing_in_the_way(agents: Agents) -> None:
    """The next one starts at once, whatever the dead one left."""
    with serving(agents) as first:
        first.process.kill()
        first.process.wait()
    with serving(agents) as second:
        assert second.ask("/health")[0] == 200

"""One stream over all agents, read from a real server with real gateways behind it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from posthouse.clients.events import EventFeed, ReceivedEvent
from posthouse.clients.gateway import GatewayClient
from posthouse.clients.server import ServerClient
from posthouse.clients.server.errors import ServerInvalid, ServerNotFound
from posthouse.gateway_lifecycle import attach
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.session import Session
from posthouse.testing.server import Served, serving

LIMIT_SECONDS = 180


def client(served: Served) -> ServerClient:
    return ServerClient(served.base_url, timeout_seconds=LIMIT_SECONDS)


def launch(agents: Agents, folder: Path, name: str) -> Session:
    return agents.launch(LaunchSpec(tool="scripted", name=name, headless=True, working_directory=folder))


@contextmanager
def attached(agents: Agents, session: Session) -> Iterator[GatewayClient]:
    """The session's gateway, taken away again at the end."""
    made = attach.attach(session, agents.registry, environment=os.environ)
    try:
        assert made.gateway_port is not None
        yield GatewayClient("127.0.0.1", made.gateway_port, timeout_seconds=LIMIT_SECONDS)
    finally:
        attach.detach(session, agents.registry)


def told(feed: EventFeed, last: str) -> list[str]:
    """What is told until *last*, without the stages of prompts and the comings and goings of taps."""
    kinds: list[str] = []
    for event in feed:
        if event.kind not in ("request_stage", "gateway_followed", "turn_started", "turn_ended"):
            kinds.append(_shown(event))
        if kinds[-1:] == [last]:
            return kinds
    raise AssertionError(f"the stream ended without {last}: {kinds}")


def _shown(event: ReceivedEvent) -> str:
    late = " late" if event.fields.get("late") else ""
    return f"{event.kind}{late}"


def test_one_stream_tells_of_all_agents_and_goes_on_after_a_restart(agents: Agents, tmp_path: Path) -> None:
    """Comings, goings, and what gateways tell; after a restart what happened meanwhile, and nothing twice."""
    gpu = launch(agents, tmp_path, "gpu")
    with attached(agents, gpu) as gateway:
        with serving(agents) as served:
            port = int(served.base_url.rpartition(":")[2])
            with client(served).events() as feed:
                gateway.submit_prompt("one")
                assert told(feed, "completed") == ["accepted", "completed"]
                launch(agents, tmp_path, "cpu")
                assert told(feed, "agent_appeared") == ["agent_appeared"]
                agents.stop(agents.find(name="cpu"))
                assert told(feed, "agent_stopped")[-1] == "agent_stopped"
        assert feed.last_id is not None

        with gateway.events() as own:
            gateway.submit_prompt("two")
            next(event for event in own if event.kind == "completed")
        with serving(agents, port=port) as served, client(served).events(since=feed.last_id) as again:
            gateway.submit_prompt("three")
            assert told(again, "completed") == [
                "server_started",
                "accepted late",
                "completed late",
                "accepted",
                "completed",
            ]
            everything = [*client(served).events(since="start", kinds=["accepted"], follow=False)]
    assert [event.fields["agent_id"] for event in everything] == 3 * [gpu.agent_id]


def test_a_reader_chooses_agents_and_kinds_and_hears_a_gateway_that_comes_later(
    agents: Agents, tmp_path: Path
) -> None:
    """By any name; names that nobody has and places that are none are refused."""
    gpu = launch(agents, tmp_path, "gpu")
    with serving(agents) as served:
        asked = client(served)
        with (
            asked.events(agents=["HOUMAO-gpu"], kinds=["accepted", "completed"]) as feed,
            attached(agents, gpu) as gateway,
        ):
            gateway.submit_prompt("hello")
            heard = [next(iter(feed)) for _ in range(2)]
        with pytest.raises(ServerNotFound, match="'nobody'"):
            asked.events(agents=["gpu", "nobody"])
        with pytest.raises(ServerInvalid, match="invalid event id"):
            asked.events(since="yesterday")

    shown = [(event.kind, event.fields["agent_id"]) for event in heard]
    assert shown == [("accepted", gpu.agent_id), ("completed", gpu.agent_id)]

"""How real agents are, asked of a real server: the same with and without a gateway."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts import server_files as cf
from posthouse.sessions.session import Session
from posthouse.terminal.client import Server
from posthouse.testing.scripted_agents import House, house_in
from posthouse.testing.server import Answer, Served, serving

TUI = "/houmao/agents/tui"
HEADLESS = "/houmao/agents/ci"
#: What nobody may ask of a TUI.
REFUSED: list[dict[str, Any]] = [
    {"request_kind": "submit_prompt", "prompt": "x", "execution": {"model": {"name": "m"}}},
    {"request_kind": "submit_prompt", "prompt": " "},
    {"request_kind": "relaunch"},
    {"prompt": "x"},
]


@pytest.fixture
def house(tmp_path: Path, tmux_server: Server) -> Iterator[House]:
    made = house_in(tmp_path, tmux_server)
    yield made
    made.end()


@pytest.fixture
def server(house: House) -> Iterator[Served]:
    house.launch(headless=False, name="tui")
    house.launch(headless=True, name="ci")
    with serving(house.agents) as made:
        house.until(lambda: made.get(f"{TUI}/state").json["turn"]["phase"] == "ready")
        yield made


def asked(server: Served, path: str) -> Any:
    answer = server.get(path)
    assert answer.status == 200, answer.body
    return answer.json


def timeless(detail: dict[str, Any]) -> dict[str, Any]:
    """A detail without what differs between two moments, or between having a gateway and not."""
    shown = copy.deepcopy(detail)
    for part in (shown["summary_state"], shown["detail"]):
        part.pop("gateway", None)
    shown["detail"].get("stability", {}).update(stable=True, stable_for_seconds=0, stable_since_utc="")
    shown["detail"].get("probe_snapshot", {}).update(observed_at_utc="")
    return shown


def told(server: Served) -> dict[str, Any]:
    """Everything that the routes of state tell of both agents."""
    return {agent: timeless(asked(server, f"{agent}/state/detail")) for agent in (TUI, HEADLESS)}


def attached(house: House, server: Served, agent: str, session: Session) -> None:
    """Give the agent a gateway, and wait until the server asks it and it has seen the agent."""
    house.attach(session)
    house.until(lambda: asked(server, f"{agent}/state")["gateway"]["gateway_health"] == "healthy")
    house.until(lambda: asked(server, f"{agent}/state")["turn"]["phase"] == "ready")


def submit(server: Served, agent: str, prompt: str) -> Answer:
    return server.post(f"{agent}/requests", {"request_kind": "submit_prompt", "prompt": prompt})


def interrupt(server: Served, agent: str) -> Answer:
    return server.post(f"{agent}/requests", {"request_kind": "interrupt"})


def test_an_agent_looks_the_same_with_and_without_a_gateway(house: House, server: Served) -> None:
    """Field for field, value for value, whoever looked; on the contract's paths and on the newer ones."""
    without = told(server)
    gateway = asked(server, f"{TUI}/state")["gateway"]
    for agent, session in zip((TUI, HEADLESS), house.sessions, strict=True):
        attached(house, server, agent, session)

    assert told(server) == without
    assert asked(server, f"{TUI}/state")["gateway"].keys() == gateway.keys()
    assert gateway["gateway_health"] == "not_attached"
    for agent in (TUI, HEADLESS):
        detail, history = asked(server, f"{agent}/state/detail"), asked(server, f"{agent}/history")
        summary = wire.Detail.model_validate(detail, strict=False).summary_state
        assert (summary.availability, summary.turn.phase, summary.last_turn.result, summary.diagnostics) == (
            "available",
            "ready",
            "none",
            (),
        )
        assert asked(server, f"{agent}/state") == asked(server, f"{agent}/managed-state")
        assert asked(server, f"{agent}/state") == detail["summary_state"]
        assert timeless(asked(server, f"{agent}/managed-state/detail")) == timeless(detail)
        assert asked(server, f"{agent}/managed-history") == history


def test_a_tui_is_prompted_and_interrupted(house: House, server: Served) -> None:
    """The prompt is typed from here, or its gateway gets it; an interrupt with nothing to do says so."""
    tui = house.sessions[0]
    prompted_and_interrupted(house, server, ["first [[wait 600]]"], "accepted by the agent")
    attached(house, server, TUI, tui)
    prompted_and_interrupted(house, server, ["first [[wait 600]]", "second [[wait 600]]"], "accepted by the")

    entries = asked(server, f"{TUI}/history?limit=3")["entries"]
    assert (len(entries), entries[0]["last_turn_result"]) == (3, "interrupted")
    assert [server.post(f"{TUI}/requests", body).status for body in REFUSED] == [422] * len(REFUSED)
    assert len(house.truth(tui).prompts()) == 2


def surface(server: Served) -> Any:
    """What the TUI's screen means now."""
    return asked(server, f"{TUI}/state/detail")["detail"]["parsed_surface"]


def prompted_and_interrupted(house: House, server: Served, prompts: list[str], way: str) -> None:
    """Give the TUI the last of *prompts*, and interrupt it before and after."""
    tui = house.sessions[0]
    idle = interrupt(server, TUI)
    accepted = submit(server, TUI, f" {prompts[-1]}\n")
    house.truth(tui).wait(lambda log: log.prompts() == prompts)
    # Until its screen shows the turn, too: what was only noted can't be interrupted yet.
    house.until(lambda: surface(server)["business_state"] == "working")
    active = asked(server, f"{TUI}/state")
    ended = interrupt(server, TUI)
    house.until(lambda: asked(server, f"{TUI}/state")["last_turn"]["result"] == "interrupted")
    house.until(lambda: asked(server, f"{TUI}/state")["turn"]["phase"] == "ready")

    told = accepted.json
    assert (idle.status, idle.json["disposition"]) == (200, "no_op")
    assert (accepted.status, told.pop("request_id")[:5], told.pop("detail")[: len(way)]) == (
        200,
        "mreq-",
        way,
    )
    assert told == {
        "success": True,
        "tracked_agent_id": tui.agent_id,
        "request_kind": "submit_prompt",
        "disposition": "accepted",
    }
    assert active["turn"]["active_turn_id"] == f"tui-anchor:{tui.agent_id}"
    assert (ended.status, ended.json["disposition"]) == (200, "accepted")


def told_of(server: Served, kind: str) -> list[str]:
    """How each request went, as the server's journal tells it."""
    path = Path(server.service.instance.server_root) / cf.EVENTS
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [event["disposition"] for event in events if event["kind"] == kind]


def test_a_headless_agent_takes_one_turn_at_a_time_and_stops(house: House, server: Served) -> None:
    """The envelope names the turn; a second prompt is refused; stop and interrupt end what runs."""
    idle = interrupt(server, HEADLESS)
    first = submit(server, HEADLESS, "work [[wait 600]]")
    second = submit(server, HEADLESS, "more")
    active = asked(server, f"{HEADLESS}/state/detail")["detail"]
    ended = interrupt(server, HEADLESS)
    house.until(lambda: asked(server, f"{HEADLESS}/state")["turn"]["phase"] == "ready")
    after = asked(server, f"{HEADLESS}/state/detail")["detail"]
    last = submit(server, HEADLESS, "work [[wait 600]]").json["headless_turn_id"]
    stopped = server.post(f"{HEADLESS}/stop")

    turn_id = first.json["headless_turn_id"]
    assert (idle.json["disposition"], "headless_turn_id" in idle.json) == ("no_op", False)
    assert (first.status, first.json["headless_turn_index"], second.status) == (200, 1, 409)
    assert active["turn"] == {"phase": "active", "active_turn_id": turn_id}
    assert (active["can_accept_prompt_now"], active["interruptible"]) == (False, True)
    assert (ended.json["disposition"], ended.json["headless_turn_id"]) == ("accepted", turn_id)
    assert (after["last_turn_status"], after["last_turn"]["turn_id"]) == ("interrupted", turn_id)
    assert (stopped.status, stopped.json["turn_id"]) == (200, last)
    assert server.get(f"{HEADLESS}/turns/{last}").json["status"] == "interrupted"
    assert [entry["turn_id"] for entry in asked(server, f"{HEADLESS}/history")["entries"]] == [last, turn_id]
    assert told_of(server, "managed_request") == ["no_op", "accepted", "accepted", "accepted"]
    house.until(lambda: asked(server, f"{HEADLESS}/state")["availability"] == "unavailable")
    assert submit(server, HEADLESS, "x").status == interrupt(server, HEADLESS).status == 503


def test_a_stopped_tui_ends_with_its_gateway_and_can_be_relaunched(house: House, server: Served) -> None:
    """Its record stays; to stop it again is harmless; it can't be prompted."""
    tui = house.sessions[0]
    house.attach(tui)

    stopped = [server.post(f"{TUI}/stop") for _ in range(2)]
    house.until(lambda: asked(server, TUI)["lifecycle_state"] == "stopped")
    state = asked(server, f"{TUI}/state")
    refused = [submit(server, TUI, "x").status, interrupt(server, TUI).status]
    house.agents.relaunch(house.agents.find(agent_id=tui.agent_id))

    assert [(answer.status, answer.json["detail"]) for answer in stopped] == [
        (200, "tui was stopped"),
        (200, "tui was already stopped"),
    ]
    assert (state["availability"], state["diagnostics"][0]["kind"]) == ("unavailable", "tmux_session_missing")
    assert state["gateway"]["gateway_health"] == "not_attached"
    assert refused == [503, 503]
    house.until(lambda: asked(server, f"{TUI}/state")["availability"] == "available")

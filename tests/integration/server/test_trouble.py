"""What the server answers about agents that can't be looked at as usual: always something, and why."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts import gateway_files as gf
from posthouse.server.observation.tui_observers import TuiObservers
from posthouse.sessions.session import Session
from posthouse.terminal.client import Server
from posthouse.testing.scripted_agents import House, house_in
from posthouse.testing.server import Served, serving

TUI = "/houmao/agents/tui"
HEADLESS = "/houmao/agents/ci"
PROMPT = {"request_kind": "submit_prompt", "prompt": "x"}


@pytest.fixture
def house(tmp_path: Path, tmux_server: Server) -> Iterator[House]:
    made = house_in(tmp_path, tmux_server)
    yield made
    made.end()


def kinds(server: Served, agent: str) -> tuple[str, list[str]]:
    """How available the agent is, and what is wrong with it; the detail must agree with the summary."""
    summary, detail = server.get(f"{agent}/state"), server.get(f"{agent}/state/detail")
    assert (summary.status, detail.status, server.get(f"{agent}/history").status) == (200, 200, 200)
    assert detail.json["summary_state"]["diagnostics"] == summary.json["diagnostics"]
    return summary.json["availability"], [one["kind"] for one in summary.json["diagnostics"]]


def test_a_gateway_of_another_version_is_named_and_never_guessed_at(house: House) -> None:
    """The state is told without it, with the remedy; nobody types while it owns the session."""
    tui = house.launch(headless=False, name="tui")
    house.attach(tui)
    record = tui.gateway_root / gf.CURRENT_INSTANCE
    with serving(house.agents) as server:
        house.until(lambda: server.get(f"{TUI}/state").json["gateway"]["gateway_health"] == "healthy")
        record.write_text(json.dumps({**json.loads(record.read_text()), "schema_version": 9}))
        found = kinds(server, TUI)
        diagnostic = server.get(f"{TUI}/state").json["diagnostics"][0]
        refused = server.post(f"{TUI}/requests", PROMPT)

    assert found == ("available", ["gateway_unusable"])
    assert "has another version" in diagnostic["message"]
    assert "gateway detach` and" in diagnostic["message"]
    assert (refused.status, "another version" in refused.json["detail"]) == (503, True)
    assert house.truth(tui).prompts() == []


def test_what_can_not_be_reached_has_a_state_too(house: House) -> None:
    """An unreadable manifest, then a dead tmux server: no route fails, each says what is wrong."""
    sessions = [house.launch(headless=False, name="tui"), house.launch(headless=True, name="ci")]
    with serving(house.agents) as server:
        house.until(lambda: server.get(f"{TUI}/state").json["turn"]["phase"] == "ready")
        contents = [_replaced(session, "{") for session in sessions]
        unreadable = {agent: kinds(server, agent) for agent in (TUI, HEADLESS)}
        refused = [server.post(f"{agent}/requests", PROMPT).status for agent in (TUI, HEADLESS)]
        for session, content in zip(sessions, contents, strict=True):
            _replaced(session, content)
        sessions[0].tmux.run("kill-server")
        for agent in (TUI, HEADLESS):
            _until_missing(house, server, agent)
        dead = {agent: kinds(server, agent) for agent in (TUI, HEADLESS)}
        refused += [server.post(f"{agent}/requests", PROMPT).status for agent in (TUI, HEADLESS)]
        stopped = [server.post(f"{agent}/stop") for agent in (TUI, HEADLESS, TUI)]
        missing = server.post("/houmao/agents/nobody/stop").status

    assert unreadable == {
        TUI: ("error", ["manifest_unreadable"]),
        HEADLESS: ("unavailable", ["runtime_resume_unavailable"]),
    }
    assert dead == {
        TUI: ("unavailable", ["tmux_session_missing"]),
        HEADLESS: ("unavailable", ["tmux_session_missing"]),
    }
    assert refused == [503, 503, 503, 503]
    assert [(one.status, one.json["detail"]) for one in stopped] == [
        (200, "tui had died; its record is updated"),
        (200, "ci had died; its record is updated"),
        (200, "tui was already stopped"),
    ]
    assert missing == 404


def _replaced(session: Session, content: str) -> str:
    before = session.manifest_path.read_text()
    session.manifest_path.write_text(content)
    return before


def _until_missing(house: House, server: Served, agent: str) -> None:
    def is_missing() -> bool:
        state: dict[str, Any] = server.get(f"{agent}/state").json
        return bool(state["availability"] == "unavailable")

    house.until(is_missing)


def test_nobody_watches_an_agent_that_nobody_asks_about(house: House) -> None:
    """One eye for all who ask; it closes when the last has been gone for a while."""
    tui = house.launch(headless=False, name="tui")

    async def scenario() -> list[int]:
        eyes = TuiObservers(idle_seconds=0.5)
        counts = [await clients()]
        async with eyes.observe(tui) as first, eyes.observe(tui) as second:
            assert first is second
            assert (await first.refresh()).diagnostics.availability == "available"
            counts.append(await clients())
        async with asyncio.timeout(60):
            while await clients():
                await asyncio.sleep(0.02)
        async with eyes.observe(tui) as again:
            assert again is not first
        await eyes.close()
        return [*counts, await clients()]

    async def clients() -> int:
        shown = await asyncio.to_thread(tui.tmux.run, "list-clients", "-F", "#{client_name}")
        return len(shown.split())

    assert asyncio.run(scenario()) == [0, 1, 0]

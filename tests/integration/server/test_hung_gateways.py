"""A gateway process that hangs behind a server: stopped by SIGSTOP, continued by SIGCONT."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from posthouse.clients.connections import ConnectionPool, HttpResponse
from posthouse.server import gateways
from posthouse.sessions.session import Session
from posthouse.terminal.client import Server
from posthouse.testing.scripted_agents import House, house_in
from posthouse.testing.server import serving

PROMPT = {"schema_version": 1, "kind": "submit_prompt", "payload": {"prompt": "refused"}}
HANGS = (
    "hangs: it did not answer its health check within 0.5 s; if its process is stopped, continue it (SIGCONT)"
)


@pytest.fixture
def house(tmp_path: Path, tmux_server: Server) -> Iterator[House]:
    made = house_in(tmp_path, tmux_server)
    yield made
    made.end()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Every call of a gateway that the server made."""
    made: list[tuple[str, str]] = []
    real = ConnectionPool.request

    async def recorded(
        self: ConnectionPool,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None,
        seconds: float,
    ) -> HttpResponse:
        made.append((method, target))
        return await real(self, method, target, headers=headers, body=body, seconds=seconds)

    monkeypatch.setattr(ConnectionPool, "request", recorded)
    return made


@contextmanager
def stopped(house: House, session: Session) -> Iterator[None]:
    """The gateway process of *session* does nothing in the body."""
    pid = house.read(session, "run/current-instance.json")["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_stopped_gateway_is_only_asked_for_its_health(
    house: House, calls: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each route answers 503 and sends nothing that would be carried out later; after SIGCONT it serves."""
    monkeypatch.setattr(gateways, "HEALTH_SECONDS", 0.5)
    session = house.launch(headless=True)
    house.attach(session)
    at = f"/houmao/agents/{session.agent_id}"
    with serving(house.agents) as server:
        house.until(lambda: server.get(f"{at}/gateway").json["gateway_health"] == "healthy")
        assert server.get(f"{at}/gateway/control/headless/state").status == 200
        with stopped(house, session):
            calls.clear()
            refused = [
                server.post(f"{at}/gateway/requests", PROMPT),
                server.get(f"{at}/gateway/control/headless/state"),
                server.post(f"{at}/gateway/control/prompt", {"schema_version": 1, "prompt": "refused"}),
                server.post(f"{at}/turns", {"prompt": "refused"}),
            ]
            state, status = server.get(f"{at}/state"), server.get(f"{at}/gateway")
            listed = server.get("/houmao/agents")
            made = list(calls)
        house.until(lambda: server.get(f"{at}/gateway").json["gateway_health"] == "healthy")
        accepted = server.post(f"{at}/gateway/requests", {**PROMPT, "payload": {"prompt": "accepted"}})
        house.settle(session)

    # The first caller waits for one health check, the others find it under way.
    assert made == [("GET", "/health")]
    assert [one.status for one in refused] == [503, 503, 503, 503]
    assert all(HANGS in one.json["detail"] for one in refused)
    assert (listed.status, state.status, status.json["gateway_health"]) == (200, 200, "not_attached")
    assert [one["kind"] for one in state.json["diagnostics"]] == ["gateway_unusable"]
    assert accepted.status == 202
    assert house.truth(session).prompts() == ["accepted"]


def test_a_stopped_gateway_is_asked_again_when_its_check_has_ended(
    house: House, calls: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer stays the same, and a gateway that goes on meanwhile is found at once."""
    monkeypatch.setattr(gateways, "HEALTH_SECONDS", 0.2)
    monkeypatch.setattr(gateways, "_HUNG_SECONDS", 0.3)
    session = house.launch(headless=True)
    house.attach(session)
    at = f"/houmao/agents/{session.agent_id}/gateway"
    with serving(house.agents) as server:
        house.until(lambda: server.get(at).json["gateway_health"] == "healthy")
        with stopped(house, session):
            calls.clear()
            house.until(lambda: server.get(f"{at}/control/headless/state").status == 503 and len(calls) > 2)
        house.until(lambda: server.get(f"{at}/control/headless/state").status == 200)

    assert set(calls) == {("GET", "/health"), ("GET", "/v1/control/headless/state")}

"""Background tasks that die in a server or a gateway: restarted, and told by `/ready` and `doctor`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from posthouse.cli import health_problems
from posthouse.cli.wiring import Wiring
from posthouse.clients.server import ServerClient
from posthouse.contracts import server_files as cf
from posthouse.gateway.reminders.scheduler import ReminderScheduler
from posthouse.server import records
from posthouse.server.event_relay.subscription import Subscription
from posthouse.support import files, locks
from posthouse.support.supervision import Supervisor
from posthouse.terminal.client import Server
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.running_gateways import session_in
from posthouse.testing.scripted_agents import house_in
from posthouse.testing.server import Served, serving
from posthouse.testing.server_with_gateways import agents_in, fronted, register
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for

_PROMPT = {"schema_version": 1, "kind": "submit_prompt", "payload": {"prompt": "x"}}


def _present() -> FakeAgent:
    agent = FakeAgent()
    agent.appear()
    return agent


class Dying:
    """Makes a method die with RecursionError *times* times. A stand-in: none of them does on demand."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: type, name: str, times: int) -> None:
        self._left, real = times, getattr(owner, name)

        async def dies(one: object, *given: object) -> object:
            if self._left > 0:
                self._left -= 1
                raise RecursionError("too deep")
            return await real(one, *given)

        patch.setattr(owner, name, dies)


def restart_after(patch: pytest.MonkeyPatch, seconds: float) -> None:
    """Have dead tasks restarted after so long."""
    defaults = Supervisor.__init__.__kwdefaults__
    assert defaults is not None
    patch.setitem(defaults, "first_delay_seconds", seconds)


@contextmanager
def _recorded(server: Served, runtime: Path) -> Iterator[None]:
    """The server in this process is the one of *runtime*, as commands find it."""
    path = Path(server.service.instance.server_root) / cf.CURRENT_INSTANCE
    with locks.hold(runtime / cf.SERVERS / cf.LOCK):
        files.private_folder(path.parent)
        files.write_json(path, server.service.instance.model_dump(), durable=False)
        yield


def failures(server: Served) -> list[tuple[str, int, bool]]:
    """Task, deaths, and whether it runs again."""
    told = server.get("/ready").json["background_failures"]
    return [(one["task"], one["deaths"], one["is_running"]) for one in told]


def test_the_server_follows_its_registry_again_after_that_task_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What changed meanwhile is known afterwards; `/ready` tells of the death, then and later."""
    restart_after(monkeypatch, 0.01)
    agents = agents_in(tmp_path)
    with serving(agents) as server:
        assert failures(server) == []
        Dying(monkeypatch, records.RecordWatcher, "_read", 2)
        register(session_in(tmp_path), agents)
        wait_for(lambda: len(server.get("/houmao/agents?include=all").json["agents"]) == 1)
        wait_for(lambda: failures(server) == [("registry", 2, True)])
        ready = server.get("/ready")

    assert (ready.status, ready.json["reason"]) == (200, None)


def test_events_of_a_gateway_are_followed_again_after_that_task_died(
    tmp_path: Path, tmux_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader of the server's events is never left without them."""
    restart_after(monkeypatch, 0.01)
    house = house_in(tmp_path, tmux_server)
    session = house.launch(headless=True)
    house.attach(session)
    Dying(monkeypatch, Subscription, "_follow", 1)
    with serving(house.agents) as server:
        client = ServerClient(server.base_url, timeout_seconds=LIMIT_SECONDS)
        with client.events() as feed:
            wait_for(lambda: failures(server) == [(f"events of agent {session.agent_id}", 1, True)])
            house.client(session).submit_prompt("x")
            heard = next(event for event in feed if event.kind == "accepted")
    house.end()

    assert heard.fields["agent_id"] == session.agent_id


def test_a_task_that_stays_down_is_told_by_ready_and_doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a gateway and of the server; requests are accepted all the same."""
    restart_after(monkeypatch, 600)
    Dying(monkeypatch, ReminderScheduler, "run", 1)
    with fronted(tmp_path, _present) as house:
        roots = house.agents.roots
        wiring = Wiring(dict(roots.variables()), tmp_path)
        Dying(monkeypatch, records.RecordWatcher, "_read", 1)
        files.private_folder(roots.registry / "live_agents" / "new")
        wait_for(lambda: house.server.get("/ready").status == 503)
        with _recorded(house.server, roots.runtime):
            wait_for(lambda: len(health_problems.collect(wiring)) == 2)
            found = health_problems.collect(wiring)
        accepted = house.server.post(house.at("gateway/requests"), _PROMPT)

    reasons = [
        f"the background task {task!r} died (RecursionError: too deep); it is restarted with backoff"
        for task in ("registry", "reminders")
    ]
    assert [(one["process"], one["agent"], one["reason"]) for one in found] == [
        ("server", None, reasons[0]),
        ("gateway", "gpu", reasons[1]),
    ]
    lines = [line for one in found for line in health_problems.lines(one)]
    assert lines[0] == f"the server is not ready: {reasons[0]}"
    assert lines[3].startswith("the gateway of gpu: the background task 'reminders' died once, last at ")
    assert lines[3].endswith(
        "(RecursionError: too deep), and waits for its restart; the log has the traceback"
    )
    assert accepted.status == 202

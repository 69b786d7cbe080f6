"""Real gateways and servers on disks that are full, read-only or gone, and writable again."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from posthouse.clients import readiness
from posthouse.gateway_lifecycle import attach
from posthouse.sessions import brain
from posthouse.sessions.brain import Brain
from posthouse.sessions.session import Session
from posthouse.terminal.client import Server
from posthouse.testing.scripted_agents import House, house_in
from posthouse.testing.server import Answer, ServerProcess, ask
from posthouse.tools.scripted import profile

FULL = "no space left on device"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def house(disk: Path, tmux_server: Server) -> Iterator[House]:
    made = house_in(disk, tmux_server)
    yield made
    made.end()


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Not a byte more fits in the body."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as stream:
        for size in (4096, 1):
            try:
                while True:
                    stream.write(b"x" * size)
            except OSError:
                continue
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing below *folder* can be opened for writing in the body; what is open already can be written."""
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def removed(folder: Path) -> Iterator[None]:
    """*folder* is not there in the body."""
    away = folder.with_name(f"{folder.name}-away")
    folder.rename(away)
    try:
        yield
    finally:
        away.rename(folder)


def prompt(text: str) -> dict[str, Any]:
    return {"schema_version": 1, "kind": "submit_prompt", "payload": {"prompt": text}}


def gateway_url(session: Session) -> str:
    there = attach.live(session)
    assert there is not None
    return f"http://{there.host}:{there.port}"


def is_ready(url: str) -> bool:
    host, _, port = url.removeprefix("http://").partition(":")
    return bool(readiness.fetch(host, int(port))["ready"])


def reason_of(url: str) -> str:
    host, _, port = url.removeprefix("http://").partition(":")
    return str(readiness.fetch(host, int(port))["reason"])


def refusals(answers: list[Answer]) -> list[tuple[int, str]]:
    """Status and reason of each."""
    return [(one.status, json.dumps(one.json["detail"])) for one in answers]


#: Every way to have a gateway write.
WRITES: dict[str, tuple[str, str, object]] = {
    "request": ("POST", "/v1/requests", prompt("refused")),
    "interrupt": ("POST", "/v1/requests", {"schema_version": 1, "kind": "interrupt", "payload": {}}),
    "direct prompt": ("POST", "/v1/control/prompt", {"schema_version": 1, "prompt": "refused"}),
    "notifier": (
        "PUT",
        "/v1/mail-notifier",
        {"schema_version": 1, "enabled": True, "interval_seconds": 60, "mode": "unread_only"},
    ),
}


@pytest.mark.needs_host("root")
@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        pytest.param(lambda disk, session: full(disk), "full", id="full"),
        pytest.param(lambda disk, session: removed(session.gateway_root), "No such file", id="removed"),
    ],
)
def test_a_gateway_refuses_while_its_disk_does_and_serves_again_afterwards(
    disk: Path, house: House, trouble: Callable[[Path, Session], Any], reason: str
) -> None:
    """What was answered 503 is never carried out; what was accepted before stays."""
    session = house.launch(headless=True, has_mailbox=True)
    house.attach(session)
    url = gateway_url(session)
    house.until(lambda: is_ready(url))
    first = ask(url, "POST", "/v1/requests", prompt("first"))
    house.settle(session)
    with trouble(disk, session):
        answers = {name: ask(url, *asked) for name, asked in WRITES.items()}
        while_refused, told = is_ready(url), reason_of(url)
        status = ask(url, "GET", "/v1/status")
    house.until(lambda: is_ready(url))
    second = ask(url, "POST", "/v1/requests", prompt("second"))
    house.settle(session)

    assert {name: one.status for name, one in answers.items()} == dict.fromkeys(WRITES, 503)
    assert all(reason in json.dumps(one.json["detail"]) for one in answers.values())
    assert (while_refused, status.status) == (False, 200)
    assert reason in told or FULL in told
    assert (first.status, second.status) == (202, 202)
    assert house.truth(session).prompts() == ["first", "second"]
    states = {state for kind, state, _ in house.rows(session)}
    assert states == {"completed"}


@pytest.mark.needs_host("root")
def test_dialog_rules_and_mail_are_refused_on_a_full_disk_and_taken_afterwards(
    disk: Path, house: House
) -> None:
    """Mail with the contract's 502, the rest with 503; nothing of what was refused is there later."""
    session = house.launch(headless=False, has_mailbox=True)
    house.attach(session)
    url = gateway_url(session)
    rules = {"rules": [{"dialog": "permission", "choice": "yes"}]}
    mail = {"schema_version": 1, "subject": "s", "body_content": "refused " + "x" * 20_000}
    with full(disk):
        refused = [
            ask(url, "PUT", "/v1/control/tui/answer-rules", rules),
            ask(url, "POST", "/v1/mail/post", mail),
        ]
    kept = ask(url, "GET", "/v1/control/tui/answer-rules")
    posted = ask(url, "POST", "/v1/mail/post", {**mail, "body_content": "accepted"})
    listed = ask(url, "POST", "/v1/mail/list", {"schema_version": 1, "include_body": True})
    taken = ask(url, "PUT", "/v1/control/tui/answer-rules", rules)

    assert [one.status for one in refused] == [503, 502]
    assert FULL in refused[0].json["detail"]
    assert kept.json["rules"] == []
    assert (posted.status, taken.status) == (200, 200)
    assert [one["body_text"] for one in listed.json["messages"]] == ["accepted"]


@pytest.mark.needs_host("root")
@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        pytest.param(lambda disk, root: full(disk), FULL, id="full"),
        pytest.param(lambda disk, root: read_only(disk), "read-only file system", id="read-only"),
        pytest.param(lambda disk, root: removed(root), "no such file or folder", id="removed"),
    ],
)
def test_a_server_refuses_while_its_disk_does_and_serves_again_afterwards(
    disk: Path, house: House, trouble: Callable[[Path, Path], Any], reason: str
) -> None:
    """Turns and launches: 503 with the reason, and nothing of them is carried out later."""
    session = house.launch(headless=True)
    server = ServerProcess(house.agents)
    server.start()
    turns = f"/houmao/agents/{session.agent_id}/turns"
    try:
        house.until(lambda: ask(server.base_url, "GET", turns.removesuffix("/turns")).status == 200)
        with trouble(disk, server.root):
            refused = [
                ask(server.base_url, "POST", turns, {"prompt": "refused"}),
                ask(
                    server.base_url,
                    "POST",
                    f"/houmao/agents/{session.agent_id}/requests",
                    {"request_kind": "submit_prompt", "prompt": "refused"},
                ),
            ]
            while_refused, told = is_ready(server.base_url), reason_of(server.base_url)
        house.until(lambda: is_ready(server.base_url))
        accepted = ask(server.base_url, "POST", turns, {"prompt": "accepted"})
        house.truth(session).wait(lambda log: "accepted" in log.prompts())
        house.until(
            lambda: (
                ask(server.base_url, "GET", f"{turns}/{accepted.json['turn_id']}").json["status"]
                == "completed"
            )
        )
    finally:
        server.kill()

    assert [(one.status, reason in json.dumps(one.json["detail"])) for one in refused] == 2 * [(503, True)]
    assert (while_refused, reason in told) == (False, True)
    assert house.truth(session).prompts() == ["accepted"]


@pytest.mark.needs_host("root")
def test_a_server_launches_prompts_and_stops_nothing_on_a_full_disk(disk: Path, house: House) -> None:
    """503 with the reason; the agents are as they were, and there is no other."""
    tui = house.launch(headless=False, name="tui")
    order = _launch_order(house.folder)
    server = ServerProcess(house.agents)
    server.start()
    agent = f"/houmao/agents/{tui.agent_id}"
    asked: dict[str, tuple[str, object]] = {
        "launch": ("/houmao/agents/headless/launches", order),
        "prompt": (f"{agent}/requests", {"request_kind": "submit_prompt", "prompt": "refused"}),
        "stop": (f"{agent}/stop", None),
    }
    try:
        with full(disk):
            refused = {name: ask(server.base_url, "POST", *one) for name, one in asked.items()}
        after = ask(server.base_url, "GET", "/houmao/agents")
        prompted = ask(server.base_url, "POST", asked["prompt"][0], {**_PROMPT, "prompt": "accepted"})
        house.truth(tui).wait(lambda log: "accepted" in log.prompts())
        launched = ask(server.base_url, "POST", *asked["launch"])
        stopped = [
            ask(server.base_url, "POST", f"/houmao/agents/{one}/stop")
            for one in (tui.agent_id, launched.json["tracked_agent_id"])
        ]
    finally:
        server.kill()

    told = {name: (one.status, FULL in one.json["detail"].casefold()) for name, one in refused.items()}
    assert told == dict.fromkeys(asked, (503, True))
    assert [one["agent_name"] for one in after.json["agents"]] == ["tui"]
    assert (prompted.status, launched.status // 100, [one.status for one in stopped]) == (200, 2, [200, 200])
    assert house.truth(tui).prompts() == ["accepted"]


_PROMPT = {"request_kind": "submit_prompt"}


def _launch_order(folder: Path) -> dict[str, str]:
    """A whole launch of the scripted tool."""
    tool = profile.TOOL
    prepared = Brain(
        tool="scripted",
        home_path=folder / "home",
        home_variable=tool.home_variable,
        executable=tool.executable(),
        environment={},
        credentials={},
    )
    (folder / "home").mkdir()
    brain.write(folder / "brain.yaml", prepared)
    brain.write_role(folder / "definitions", "tester", "You test.")
    return {
        "tool": "scripted",
        "working_directory": str(folder),
        "agent_def_dir": str(folder / "definitions"),
        "brain_manifest_path": str(folder / "brain.yaml"),
        "role_name": "tester",
    }

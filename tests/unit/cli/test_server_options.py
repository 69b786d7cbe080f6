"""Commands that ask the coordination server, against one that answers as told."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from posthouse.cli import dispatch, server_options, tree
from posthouse.cli.error_output import UsageError
from posthouse.cli.wiring import Wiring
from posthouse.clients.server import NotAServer, ServerUnreachable
from posthouse.errors import Conflict, Denied
from posthouse.testing.canned_server import Told, told

HEALTH = b'{"status": "ok", "houmao_service": "houmao-passive-server"}'
WHO = {
    "tracked_agent_id": "a1",
    "transport": "headless",
    "tool": "codex",
    "session_name": None,
    "terminal_id": None,
    "runtime_session_id": "codex_headless-1",
    "tmux_session_name": "HOUMAO-ci-1",
    "tmux_window_name": "agent",
    "manifest_path": "/m",
    "session_root": "/s",
    "agent_name": "ci",
    "agent_id": "a1",
    "lifecycle_state": "active",
    "management_kind": "local_lifecycle",
    "lifecycle_owner": "local",
    "external_agent_id": None,
    "remote_pair_api_base_url": None,
    "remote_agent_ref": None,
}
ACCEPTED = {
    "success": True,
    "tracked_agent_id": "a1",
    "request_id": "mreq-1",
    "request_kind": "submit_prompt",
    "disposition": "accepted",
    "detail": "accepted",
    "headless_turn_id": "t1",
    "headless_turn_index": 1,
}
REPORT = {
    "tracked_agent_id": "a1",
    "turn_id": "t1",
    "turn_index": 1,
    "status": "completed",
    "started_at_utc": "2026-06-05T00:00:00+00:00",
    "completed_at_utc": "2026-06-05T00:00:01+00:00",
    "returncode": 0,
    "completion_source": "process_exit",
    "stdout_path": None,
    "stderr_path": None,
    "status_path": None,
    "history_summary": "all green",
    "error": None,
}


@pytest.fixture
def wiring(tmp_path: Path) -> Wiring:
    return Wiring({"HOME": str(tmp_path)}, tmp_path)


@pytest.fixture
def server() -> Iterator[Told]:
    with told() as made:
        made.answers = {"/health": (200, HEALTH)}
        yield made


def answering(server: Told, **answers: Any) -> None:
    """Let *server* answer at each path below the agent `ci`."""
    server.answers = {
        "/health": (200, HEALTH),
        **{
            f"/houmao/agents/ci{path.replace('_', '/')}": (200, json.dumps(value).encode())
            for path, value in answers.items()
        },
    }


def test_a_server_is_asked_where_the_contract_says() -> None:
    """`--port` on global, single and mail commands, `--pair-port` below gateway, nothing on self."""
    by_option: dict[str, set[str]] = {"--port": set(), "--pair-port": set()}
    for path, command in tree.COMMANDS.items():
        if (pair := server_options.for_command(command)) is not None:
            by_option[pair.option].add(" ".join(path))

    assert not any("self" in words.split() for words in by_option["--port"] | by_option["--pair-port"])
    assert {
        "agents list",
        "agents global list",
        "agents single state",
        "agents prompt",
        "agents mail check",
    } <= (by_option["--port"])
    assert all(" gateway " in words for words in by_option["--pair-port"])
    assert {"agents gateway attach", "agents single gateway tui history"} <= by_option["--pair-port"]


def test_self_has_no_port(wiring: Wiring) -> None:
    """The current session is asked here, and nowhere else."""
    with pytest.raises(UsageError, match="unrecognized arguments: --port"):
        dispatch.run("p", ["agents", "self", "state", "--port", "1"], wiring)


def test_the_agent_has_to_be_named(wiring: Wiring) -> None:
    """Nobody guesses an agent for a server."""
    with pytest.raises(UsageError, match="--pair-port goes with"):
        dispatch.run("p", ["agents", "gateway", "status", "--pair-port", "9"], wiring)


def test_a_list_and_a_prompt_go_through_the_server(
    server: Told, wiring: Wiring, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a registry of this machine; the answer of a headless turn is waited for."""
    port = str(server.server_port)
    answering(server, **{"": WHO, "_requests": ACCEPTED})
    server.answers = {
        **server.answers,
        "/houmao/agents": (200, json.dumps({"agents": [WHO]}).encode()),
        "/houmao/agents/a1/turns/t1": (200, json.dumps(REPORT).encode()),
    }

    assert dispatch.run("p", ["agents", "list", "--port", port], wiring) == 0
    assert "ci    codex  headless  active  HOUMAO-ci-1  a1" in capsys.readouterr().out
    assert dispatch.run("p", ["agents", "prompt", "ci", "run", "--wait", "--port", port], wiring) == 0
    assert capsys.readouterr().out == "all green\n"
    prompts = [asked.body for asked in server.asked if asked.target.endswith("/requests")]
    assert prompts == [{"request_kind": "submit_prompt", "prompt": "run"}]


def test_a_tui_is_waited_for_through_its_gateway(
    server: Told, wiring: Wiring, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its gateway keeps the receipt; so it does for a prompt with a key."""
    receipt = {"state": "completed", "result": {"answer": "from the TUI"}, "error": None}
    answering(server, **{"": WHO | {"transport": "tui"}, "_gateway_requests": {"request_id": "gwreq-1"}})
    told = (200, json.dumps(receipt).encode())
    server.answers = {**server.answers, "/houmao/agents/ci/gateway/requests/gwreq-1?wait=60": told}
    words = ["agents", "prompt", "ci", "x", "--port", str(server.server_port)]

    assert dispatch.run("p", [*words, "--wait"], wiring) == 0
    assert dispatch.run("p", [*words, "--idempotency-key", "once"], wiring) == 0
    assert capsys.readouterr().out == "from the TUI\ngwreq-1\n"
    prompts = [asked for asked in server.asked if asked.method == "POST"]
    assert [asked.target for asked in prompts] == ["/houmao/agents/ci/gateway/requests"] * 2
    assert [asked.headers["Idempotency-Key"] for asked in prompts] == [None, "once"]


def test_gateway_leaves_and_mail_go_through_the_server(
    server: Told, wiring: Wiring, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the gateway's own words, and mail as a verified result."""
    port = str(server.server_port)
    mailbox = {"address": "ci@houmao.localhost", "transport": "filesystem"}
    answering(server, _mail_status=mailbox, _gateway={"gateway_health": "healthy"})

    assert dispatch.run("p", ["agents", "gateway", "status", "ci", "--pair-port", port], wiring) == 0
    assert capsys.readouterr().out == "gateway_health  healthy\n"
    words = ["agents", "single", "--agent-id", "ci", "mail", "status", "--port", port, "--json"]
    assert dispatch.run("p", words, wiring) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["authoritative"], told["execution_path"]) == (True, "gateway_backed")


@pytest.mark.parametrize(
    ("status", "family"), [(409, Conflict), (501, Denied)], ids=["ambiguous", "not through a server"]
)
def test_the_servers_refusals_are_ours(
    server: Told, wiring: Wiring, status: int, family: type[Exception]
) -> None:
    """In its own words, of the family of its status."""
    server.answer = (status, b'{"detail": "in its own words"}')

    with pytest.raises(family, match="in its own words"):
        dispatch.run(
            "p", ["agents", "gateway", "attach", "ci", "--pair-port", str(server.server_port)], wiring
        )


def test_a_wrong_port_is_said(server: Told, wiring: Wiring) -> None:
    """A stranger is told from nobody, and neither is asked anything."""
    server.answers = {"/health": (200, b'{"protocol_version": "v1"}')}
    port = server.server_port
    with pytest.raises(NotAServer, match=f"{port} is not a coordination server"):
        dispatch.run("p", ["agents", "stop", "ci", "--port", str(port)], wiring)
    assert [asked.target for asked in server.asked] == ["/health"]

    with told() as gone:
        free = gone.server_port
    with pytest.raises(ServerUnreachable, match=f":{free} does not answer"):
        dispatch.run("p", ["agents", "stop", "ci", "--port", str(free)], wiring)

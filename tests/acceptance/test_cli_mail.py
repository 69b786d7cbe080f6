"""Two agents that write to each other, by the commands that they and their people use."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from posthouse.testing.waiting import LIMIT_SECONDS

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands

_WHOSE = ("transport", "principal_id", "address")


def _launch(posthouse: "Commands", name: str, *options: str) -> Any:
    return posthouse.json("agents", "launch", "--tool", "scripted", "--name", name, "--headless", *options)


def _until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.2)
    return value


@pytest.mark.ordinary_user
def test_one_agent_writes_and_the_other_answers(posthouse: "Commands") -> None:
    """A letter goes from one agent to another and back, its sender sees how far it has come."""
    _launch(posthouse, "ann")
    _launch(posthouse, "bob", "--no-gateway")

    sent = posthouse.json(
        *("agents", "mail", "send", "ann", "--to", "bob@houmao.localhost"),
        *("--subject", "plans", "--body-content", "What next?"),
    )
    ref = sent["message"]["message_ref"]
    waiting = posthouse.json("agents", "mail", "track", "ann", "--message-ref", ref)["receivers"]
    (listed,) = posthouse.json("agents", "mail", "check", "bob", "--unread-only")["messages"]
    read = posthouse.json("agents", "single", "--agent-name", "bob", "mail", "read", "--message-ref", ref)
    answer = posthouse.json(
        *("agents", "mail", "reply", "bob", "--message-ref", ref, "--body-content", "Rest.")
    )
    thread = posthouse.json("agents", "mail", "thread", "ann", "--message-ref", ref)
    answered = posthouse.json("agents", "mail", "track", "ann", "--message-ref", ref)["receivers"]

    assert {name: sent[name] for name in ("authoritative", "status", "execution_path", "operation")} == {
        "authoritative": True,
        "status": "verified",
        "execution_path": "gateway_backed",
        "operation": "send",
    }
    assert (listed["message_ref"], listed["unread"], listed["sender"]["address"]) == (
        ref,
        True,
        "ann@houmao.localhost",
    )
    assert (read["execution_path"], read["message"]["body_text"]) == ("manager_direct", "What next?")
    assert answer["message"]["subject"] == "Re: plans"
    assert [one["body_text"] for one in thread["messages"]] == ["What next?", "Rest."]
    assert [[one["step"] for one in told] for told in (waiting, answered)] == [["waiting"], ["answered"]]
    assert "no gateway" in waiting[0]["reason"]


def test_mail_wakes_an_agent_at_once(posthouse: "Commands") -> None:
    """An agent whose notifier wakes immediately is given a prompt about its mail, through its queue."""
    _launch(posthouse, "ann")
    enabled = posthouse.json(
        *("agents", "gateway", "mail-notifier", "enable", "ann", "--interval-seconds", "3600"),
        *("--wake", "immediate", "--appendix-text", "[[say noted]]"),
    )
    posthouse.json("agents", "mail", "post", "ann", "--subject", "hello", "--body-content", "wake up")
    status = _until(lambda: _notified(posthouse))
    answer = _until(lambda: _answered(posthouse))

    assert (enabled["enabled"], enabled["wake_settings"]["wake"]) == (True, "immediate")
    assert status["last_error"] is None
    assert answer == "noted"
    assert posthouse.json("agents", "gateway", "mail-notifier", "disable", "ann")["enabled"] is False


def _notified(posthouse: "Commands") -> Any:
    status = posthouse.json("agents", "gateway", "mail-notifier", "status", "ann")
    return status if status["last_notification_at_utc"] else None


def _answered(posthouse: "Commands") -> Any:
    done = posthouse.run("agents", "last", "ann", "--json")
    if done.returncode != 0:
        return None
    import json

    return json.loads(done.stdout).get("answer")


def test_resolve_live_says_where_mail_is(posthouse: "Commands") -> None:
    """The current mailbox and its live gateway are found from outside by name."""
    made = _launch(posthouse, "ann")
    root = posthouse.environment["HOUMAO_GLOBAL_MAILBOX_DIR"]
    value = posthouse.json("agents", "mail", "resolve-live", "--agent-name", "ann")

    box = f"{root}/mailboxes/ann@houmao.localhost"
    assert value["mailbox"]["filesystem"] == {
        "root": root,
        "mailbox_kind": "in_root",
        "mailbox_path": box,
        "inbox_path": f"{box}/inbox",
        "sqlite_path": f"{root}/index.sqlite",
        "local_sqlite_path": f"{box}/mailbox.sqlite",
    }
    assert [value[name] for name in _WHOSE] == ["filesystem", "HOUMAO-ann", "ann@houmao.localhost"]
    assert (value["source"], value["gateway_available"]) == ("manifest_binding", True)
    gateway = made["gateway"]
    assert value["gateway"]["base_url"] == f"http://{gateway['host']}:{gateway['port']}"
    assert value["managed_agent"]["agent_id"] == made["agent_id"]


def test_a_mailbox_is_taken_and_given_while_the_agent_runs(posthouse: "Commands") -> None:
    """Without a mailbox mail is refused; another one is used at once, with a new version of the binding."""
    _launch(posthouse, "ann")
    before = posthouse.json("agents", "mailbox", "status", "ann")
    posthouse.json("agents", "mailbox", "unregister", "ann")
    refused = posthouse.run("agents", "mail", "list", "ann")
    again = posthouse.json("agents", "mailbox", "register", "ann", "--address", "new@houmao.localhost")
    posted = posthouse.json("agents", "mail", "post", "ann", "--subject", "s", "--body-content", "b")

    assert (before["address"], before["problem"]) == ("ann@houmao.localhost", None)
    assert refused.returncode == 1
    assert "agents mailbox register ann" in refused.stderr
    assert (again["address"], again["problem"]) == ("new@houmao.localhost", None)
    assert again["bindings_version"] > before["bindings_version"]
    assert (posted["address"], posted["execution_path"]) == ("new@houmao.localhost", "gateway_backed")


def test_who_means_nobody_is_told(posthouse: "Commands") -> None:
    """Outside tmux an agent must be named, and a server's port needs a named agent; a name is no address."""
    _launch(posthouse, "ann", "--no-gateway")
    nobody = posthouse.run("agents", "mail", "list")
    port = posthouse.run("agents", "mail", "list", "--port", "1")
    name = posthouse.run(
        *("agents", "mail", "send", "ann", "--to", "bob", "--subject", "s", "--body-content", "b")
    )

    assert [done.returncode for done in (nobody, port, name)] == [2, 2, 1]
    assert "--port goes with --agent-name or --agent-id" in port.stderr
    assert "bob@houmao.localhost" in name.stderr

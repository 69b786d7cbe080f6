"""What happens to a conversation before its agent is woken."""

import asyncio
import sqlite3
from collections.abc import Mapping
from typing import Any

import pytest

from posthouse.agent.adapter import Prompt
from posthouse.gateway.mail.notifier import context
from posthouse.support import clock
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.gateway_with_mailbox import House, Opened
from posthouse.tools.codex.profile import TOOL as CODEX
from posthouse.tools.packs import captures
from posthouse.tools.scripted.profile import TOOL


def _read(capture: str) -> dict[str, Any]:
    """What a recorded screen of the real Codex says of its conversation."""
    surface = CODEX.read_surface(captures.screen(captures.folder_of("codex"), capture))
    names = ("chat_context", "chat_diagnostic", "outcome", "error_kind")
    return {name: getattr(surface, name) for name in names}


_SPOILED = _read("compact-failed-server")


@pytest.fixture(autouse=True)
def compactable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent in memory is of the scripted tool, and only Codex can be compacted."""
    monkeypatch.setattr(context, "_CODEX", "scripted")


def _woken(house: Opened, *, polls: int = 1, spoiled: bool = False, **settings: str) -> dict[str, Any]:
    """What the agent got, wake-ups by their first words, and what the audit tells of each poll."""

    async def run() -> dict[str, Any]:
        async with house(is_headless=False) as there:
            there.agent.show("ready", **(_SPOILED if spoiled else {}))
            answer = await there.ask("PUT", "/v1/mail-notifier", {"interval_seconds": 3600, **settings})
            assert answer.status == 200, answer.body
            there.mailbox.receive("hello")
            for _ in range(polls):
                await there.gateway.mail.poller.poll()
                await _until_idle(there)
                there.agent.hear("ended", clock.now())
            got = [prompt.text.partition(":")[0] for prompt in there.agent.received]
            return {"got": got, "told": _audit(there)}

    return asyncio.run(run())


async def _until_idle(there: House) -> None:
    async with asyncio.timeout(60):
        while there.gateway.status().queue_depth:
            await asyncio.sleep(0.005)


def _audit(there: House) -> list[Mapping[str, Any]]:
    with sqlite3.connect(there.session.gateway_root / "queue.sqlite") as connection:
        return connection.execute(
            "SELECT outcome, context_action_outcome, degraded_error_type FROM gateway_notifier_audit"
        ).fetchall()


def test_the_conversation_is_compacted_once_for_the_same_mail(house: Opened) -> None:
    """`/compact` is typed before the first prompt about a message, and not before the next one."""
    assert _woken(house, polls=2, pre_notification_context_action="compact") == {
        "got": ["/compact", "You have mail", "You have mail"],
        "told": [("enqueued", "pre_notification_compact_completed", None), ("enqueued", None, None)],
    }


def test_a_failed_compaction_wakes_nobody(house: Opened) -> None:
    """An agent whose screen says that it could not compact gets no prompt, and the row says why."""
    assert _woken(house, spoiled=True, pre_notification_context_action="compact") == {
        "got": ["/compact"],
        "told": [("pre_notification_context_error", "pre_notification_compact_failed", None)],
    }


def test_a_compaction_that_ends_in_an_error_wakes_nobody(
    house: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that nobody knows by name is an error too; one that stood there before says nothing."""
    got = FakeAgent.execute

    async def execute(agent: FakeAgent, prompt: Prompt, **more: Any) -> None:
        await got(agent, prompt, **more)
        agent.show("ready", **_read("plain-error"))

    monkeypatch.setattr(FakeAgent, "execute", execute)

    assert _woken(house, polls=2, pre_notification_context_action="compact") == {
        "got": ["/compact", "/compact", "You have mail"],
        "told": [
            ("pre_notification_context_error", "pre_notification_compact_failed", None),
            ("enqueued", "pre_notification_compact_completed", None),
        ],
    }


def test_a_failed_compaction_is_recovered_from_where_that_is_wished(house: Opened) -> None:
    """With clear_context a new conversation is begun, and the prompt follows in it."""
    told = "pre_notification_compact_failed,clear_context_completed"

    woken = _woken(
        house,
        spoiled=True,
        pre_notification_context_action="compact",
        context_error_policy="clear_context",
    )

    assert woken == {
        "got": ["/compact", TOOL.reset_command, "You have mail"],
        "told": [("enqueued", told, "codex_remote_compact_server_error")],
    }


def test_a_spoiled_conversation_goes_on_by_default(house: Opened) -> None:
    """Without a wish the prompt goes into the conversation as it is, and the row tells of its state."""
    assert _woken(house, spoiled=True) == {
        "got": ["You have mail"],
        "told": [("enqueued", "degraded_context_continued", "codex_remote_compact_server_error")],
    }

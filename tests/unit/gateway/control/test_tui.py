"""The TUI over HTTP: state, history, notes."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from posthouse.gateway.control.tui import MAX_HISTORY
from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.sessions.session import Session
from posthouse.testing.gateway import Answer, FakeAgent, call
from posthouse.tracking.observation import EndedTurn

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
STATE = "/v1/control/tui/state"
HISTORY = "/v1/control/tui/history"
NOTE = "/v1/control/tui/note-prompt"


def agent() -> FakeAgent:
    made = FakeAgent(is_headless=False)
    made.appear()
    return made


async def ask(gateway: Gateway, path: str, body: dict[str, Any] | None = None) -> Answer:
    return await call(app.build(gateway), "GET" if body is None else "POST", path, body)


def test_the_state_has_exactly_the_contracts_fields(opened: Opener, made_session: Session) -> None:
    """Nulls are written, and nothing internal is told."""

    async def story() -> Any:
        async with opened(agent()) as gateway:
            return (await ask(gateway, STATE)).body

    state = asyncio.run(story())

    stability, snapshot = state.pop("stability"), state.pop("probe_snapshot")
    parsed, transitions = state.pop("parsed_surface"), state.pop("recent_transitions")
    identity = "claude_headless-1"
    assert state == {
        "terminal_id": identity,
        "tracked_session": {
            "tracked_session_id": identity,
            "session_name": identity,
            "tool": "scripted",
            "observed_tool_version": None,
            "tmux_session_name": "HOUMAO-gpu-1",
            "tmux_window_name": "agent",
            "terminal_aliases": [],
            "agent_name": "gpu",
            "agent_id": "gpu-id",
            "manifest_path": str(made_session.manifest_path),
            "session_root": str(made_session.root),
        },
        "diagnostics": {
            "availability": "available",
            "transport_state": "tmux_up",
            "process_state": "tui_up",
            "parse_status": "parsed",
            "probe_error": None,
            "parse_error": None,
        },
        "surface": {"accepting_input": "yes", "editing_input": "no", "ready_posture": "yes"},
        "turn": {"phase": "ready"},
        "last_turn": {"result": "none", "source": "none", "updated_at_utc": None},
        "chat_context": "unknown",
        "chat_context_diagnostic": None,
    }
    assert sorted(stability) == ["signature", "stable", "stable_for_seconds", "stable_since_utc"]
    assert {**snapshot, "observed_at_utc": "", "captured_text_hash": ""} == {
        "observed_at_utc": "",
        "pane_id": "%1",
        "pane_pid": 42,
        "captured_text_hash": "",
        "captured_text_length": 14,
        "captured_text_excerpt": "a ready screen",
        "matched_process_names": [],
    }
    assert (parsed["business_state"], parsed["input_mode"]) == ("idle", "freeform")
    assert sorted(transitions[0]) == [
        "changed_fields",
        "diagnostics_availability",
        "last_turn_result",
        "last_turn_source",
        "parse_status",
        "process_state",
        "recorded_at_utc",
        "summary",
        "transport_state",
        "turn_phase",
    ]


def test_a_note_makes_the_turn_active_and_the_transcript_ends_it(opened: Opener) -> None:
    """Only the prompt of the payload is used, and it is told nowhere."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            noted = await ask(gateway, NOTE, {"prompt": "whisper"})
            made.show("ready", ended=EndedTurn(submitted_at_utc="now", outcome="interrupted"))
            after = await ask(gateway, STATE)

        assert (noted.status, noted.body["turn"]) == (200, {"phase": "active"})
        last = after.body["last_turn"]
        assert (last["result"], last["source"]) == ("interrupted", "explicit_input")
        assert "whisper" not in str(noted.body)

    asyncio.run(story())


def test_history_has_one_entry_for_each_change_and_each_note(opened: Opener) -> None:
    """Oldest first; a second look at the same screen adds nothing, a second note does."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            await ask(gateway, STATE)
            await ask(gateway, STATE)
            made.show("active")
            for _ in range(2):
                await ask(gateway, NOTE, {"prompt": "x"})
            answer = await ask(gateway, HISTORY)
            newest = await ask(gateway, f"{HISTORY}?limit=1")
            everything = await ask(gateway, f"{HISTORY}?limit=0")

        entries = answer.body["entries"]
        assert [entry["turn"]["phase"] for entry in entries] == ["ready", "active", "active", "active"]
        assert answer.body["tracked_session_id"] == answer.body["terminal_id"] == "claude_headless-1"
        assert newest.body["entries"] == entries[-1:]
        assert everything.body["entries"] == entries
        assert sorted(entries[0]) == [
            "chat_context",
            "chat_context_diagnostic",
            "diagnostics",
            "last_turn",
            "parsed_surface",
            "probe_snapshot",
            "recorded_at_utc",
            "stability",
            "surface",
            "turn",
        ]

    asyncio.run(story())


def test_history_is_bounded_and_gives_a_hundred_by_default(opened: Opener) -> None:
    """A restless screen does not fill the memory."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            for number in range(MAX_HISTORY + 10):
                made.show("active" if number % 2 else "draft", composer="x")
            default = await ask(gateway, HISTORY)
            everything = await ask(gateway, f"{HISTORY}?limit=-1")

        assert (len(default.body["entries"]), len(everything.body["entries"])) == (100, MAX_HISTORY)

    asyncio.run(story())


def test_a_limit_that_is_no_number_is_422_in_the_query(opened: Opener) -> None:
    """The problem is told as FastAPI tells it."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            answer = await ask(gateway, f"{HISTORY}?limit=many")

        assert (answer.status, answer.body) == (
            422,
            {
                "detail": [
                    {
                        "type": "int_parsing",
                        "loc": ["query", "limit"],
                        "msg": "Input should be a valid integer, unable to parse string as an integer",
                        "input": "many",
                    }
                ]
            },
        )

    asyncio.run(story())


@pytest.mark.parametrize(("path", "body"), [(STATE, None), (HISTORY, None), (NOTE, {"prompt": "x"})])
def test_a_headless_agent_has_no_tui(opened: Opener, path: str, body: dict[str, Any] | None) -> None:
    """422 with a text that says where to look."""

    async def story() -> None:
        made = FakeAgent()
        made.appear()
        async with opened(made) as gateway:
            answer = await ask(gateway, path, body)

        detail = "this agent is headless and has no TUI; /v1/control/headless/state shows it"
        assert (answer.status, answer.body) == (422, {"detail": detail})

    asyncio.run(story())

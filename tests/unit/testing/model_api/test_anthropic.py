"""Anthropic Messages, request by request and event by event."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from posthouse.testing.model_api import anthropic
from posthouse.testing.model_api.script import Entry, Step
from posthouse.testing.model_api.wire import Call

CALL = Call(model="m", history=[], tools=["Bash"], effort=None, is_streaming=True)
USAGE = {
    "input_tokens": 10,
    "output_tokens": 1,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
}
MESSAGE: dict[str, Any] = {
    "id": "msg",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": USAGE,
}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("messages", "history"),
    [
        ([{"role": "user", "content": "hi"}], [Entry("user", "hi")]),
        (
            [
                {
                    "role": "user",
                    "content": [text("<system-reminder>x</system-reminder>"), text("hi"), text(" ")],
                }
            ],
            [Entry("user", "hi")],
        ),
        (
            [{"role": "user", "content": [text("failed"), text("again")]}],
            [Entry("user", "failed"), Entry("user", "again")],
        ),
        (
            [{"role": "assistant", "content": [text("on it")]}, {"role": "system", "content": "x"}],
            [Entry("assistant")],
        ),
        (
            [{"role": "user", "content": [{"type": "tool_result", "content": "made"}, text("go on")]}],
            [Entry("tool"), Entry("user", "go on")],
        ),
    ],
)
def test_the_conversation_is_read(messages: list[dict[str, Any]], history: list[Entry]) -> None:
    """Reminders that the client adds are no prompts, and prompts that it merges stay two."""
    assert anthropic.read("/v1/messages", {"messages": messages}).history == history


def test_the_request_is_read() -> None:
    """Model, tools and effort are the caller's own words."""
    body = {
        "model": "m",
        "stream": True,
        "tools": [{"name": "Bash"}, {"type": "web_search"}],
        "thinking": {"type": "enabled"},
        "output_config": {"effort": "high"},
    }

    assert anthropic.read("/v1/messages", body) == Call(
        model="m",
        history=[],
        tools=["Bash", "web_search"],
        effort={"thinking": {"type": "enabled"}, "output_config": {"effort": "high"}},
        is_streaming=True,
    )


def transcript(step: Step, deltas: Sequence[str]) -> list[tuple[str | None, dict[str, Any]]]:
    """Event names and payloads, which repeat the name as their type."""
    events = list(anthropic.events(CALL, step, deltas))
    assert all(event.payload["type"] == event.name for event in events)
    return [(event.name, {k: v for k, v in event.payload.items() if k != "type"}) for event in events]


@pytest.mark.usefixtures("plain_ids")
def test_text_streams_in_its_deltas() -> None:
    """A plain answer is one text block."""
    assert transcript(Step(text="one two", input_tokens=10, output_tokens=7), ["one ", "two"]) == [
        ("message_start", {"message": MESSAGE}),
        ("content_block_start", {"index": 0, "content_block": text("")}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "one "}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "two"}}),
        ("content_block_stop", {"index": 0}),
        (
            "message_delta",
            {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 7}},
        ),
        ("message_stop", {}),
    ]


@pytest.mark.usefixtures("plain_ids")
def test_thinking_and_a_tool_are_blocks_of_their_own() -> None:
    """Reasoning comes first and signed, the tool last with its arguments as text."""
    step = Step(thinking="hm", text="on it", shell="ls")
    arguments = json.dumps({"command": "ls", "description": "scripted command"})

    events = transcript(step, ["on it"])

    contents = [fields.get("content_block") or fields.get("delta") for _, fields in events[1:-2]]
    assert [content for content in contents if content is not None] == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "c2ln"},
        text(""),
        {"type": "text_delta", "text": "on it"},
        {"type": "tool_use", "id": "toolu", "name": "Bash", "input": {}},
        {"type": "input_json_delta", "partial_json": arguments},
    ]
    assert events[-2][1]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.usefixtures("plain_ids")
def test_a_whole_answer_holds_what_a_stream_would() -> None:
    """Without streaming the blocks come at once, with the usage."""
    step = Step(text="on it", shell="ls", output_tokens=7)

    assert anthropic.answer(CALL, step) == MESSAGE | {
        "content": [
            text("on it"),
            {
                "type": "tool_use",
                "id": "toolu",
                "name": "Bash",
                "input": {"command": "ls", "description": "scripted command"},
            },
        ],
        "stop_reason": "tool_use",
        "usage": USAGE | {"output_tokens": 7},
    }


@pytest.mark.usefixtures("plain_ids")
def test_an_error_has_the_vendor_s_form() -> None:
    """Clients decide by its type whether to try again."""
    assert anthropic.failure(Step(status=529, error_type="overloaded_error", message="Overloaded")) == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
        "request_id": "req",
    }

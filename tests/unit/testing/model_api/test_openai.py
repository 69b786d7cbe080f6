"""OpenAI Responses, request by request and event by event."""

import json
from collections.abc import Sequence
from typing import Any
from unittest.mock import ANY

import pytest

from posthouse.testing.model_api import openai
from posthouse.testing.model_api.script import Entry, Step
from posthouse.testing.model_api.wire import Call

RESPONSE = {"id": "resp", "object": "response", "created_at": ANY, "model": "m"}
USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "total_tokens": 15,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


def call(*tools: str) -> Call:
    return Call(model="m", history=[], tools=tools, effort=None, is_streaming=True)


def message(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": content}


@pytest.mark.parametrize(
    ("given", "history"),
    [
        ("hi", [Entry("user", "hi")]),
        ([{"role": "user", "content": "hi"}], [Entry("user", "hi")]),
        (
            [
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"text": "a"}, {"image_url": "x"}, {"text": "b"}],
                }
            ],
            [Entry("user", "a\nb")],
        ),
        ([{"type": "message", "role": "developer", "content": "x"}, {"type": "reasoning"}], []),
        (
            [
                {"type": "message", "role": "assistant"},
                {"type": "function_call"},
                {"type": "custom_tool_call"},
            ],
            [Entry("assistant")] * 3,
        ),
        ([{"type": "function_call_output"}, {"type": "custom_tool_call_output"}], [Entry("tool")] * 2),
        (None, []),
    ],
)
def test_the_conversation_is_read(given: Any, history: list[Entry]) -> None:
    """What developers and reasoning add is no prompt; calls and their outputs are told apart."""
    assert openai.read("/v1/responses", {"input": given}).history == history


def test_the_request_is_read() -> None:
    """Model, tools and effort are the caller's own words."""
    body = {"model": "m", "stream": True, "tools": [{"name": "shell"}], "reasoning": {"effort": "low"}}

    assert openai.read("/v1/responses", body) == Call(
        model="m", history=[], tools=["shell"], effort={"effort": "low"}, is_streaming=True
    )


def test_tools_that_come_in_the_conversation_count() -> None:
    """Newer models get theirs as an item, in namespaces; uncounted, the agent would look like a side call."""
    tools = [
        {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]},
        {"type": "function", "name": "wait"},
    ]

    read = openai.read("/v1/responses", {"input": [{"type": "additional_tools", "tools": tools}]})

    assert (read.tools, read.history) == (["exec", "wait"], [])


def transcript(asked: Call, step: Step, deltas: Sequence[str]) -> list[tuple[str | None, dict[str, Any]]]:
    """Event names and payloads, which repeat the name as their type."""
    events = list(openai.events(asked, step, deltas))
    assert all(event.payload["type"] == event.name for event in events)
    return [(event.name, {k: v for k, v in event.payload.items() if k != "type"}) for event in events]


@pytest.mark.usefixtures("plain_ids")
def test_text_streams_in_its_deltas() -> None:
    """A plain answer is one message, begun empty and repeated whole."""
    begun = message("one two") | {"status": "in_progress", "content": []}
    place = {"item_id": "msg", "output_index": 0, "content_index": 0}

    assert transcript(call("shell"), Step(text="one two"), ["one ", "two"]) == [
        ("response.created", {"response": RESPONSE | {"status": "in_progress", "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": begun}),
        ("response.output_text.delta", place | {"delta": "one "}),
        ("response.output_text.delta", place | {"delta": "two"}),
        ("response.output_item.done", {"output_index": 0, "item": message("one two")}),
        (
            "response.completed",
            {"response": RESPONSE | {"status": "completed", "output": [message("one two")], "usage": USAGE}},
        ),
    ]


@pytest.mark.usefixtures("plain_ids")
def test_thinking_and_a_tool_are_items_of_their_own() -> None:
    """Reasoning comes first, as a summary; the tool last, begun without its arguments."""
    thought = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]}
    asked = {
        "type": "function_call",
        "id": "fc",
        "call_id": "call",
        "status": "completed",
        "name": "exec_command",
        "arguments": json.dumps({"cmd": "ls"}),
    }
    delta = {"item_id": "rs", "output_index": 0, "summary_index": 0, "delta": "hm"}

    events = transcript(call("exec_command"), Step(thinking="hm", shell="ls"), [])

    assert events[1:-1] == [
        ("response.output_item.added", {"output_index": 0, "item": thought | {"summary": []}}),
        ("response.reasoning_summary_text.delta", delta),
        ("response.output_item.done", {"output_index": 0, "item": thought}),
        ("response.output_item.added", {"output_index": 1, "item": asked | {"arguments": ""}}),
        ("response.output_item.done", {"output_index": 1, "item": asked}),
    ]


@pytest.mark.usefixtures("plain_ids")
def test_where_the_only_tool_is_code_the_command_is_code() -> None:
    """A newer model's shell is reached through JavaScript."""
    source = 'text((await tools.exec_command({"cmd": "ls \\"a\\""})).output)'
    asked = {
        "type": "custom_tool_call",
        "id": "fc",
        "call_id": "call",
        "status": "completed",
        "name": "exec",
        "input": source,
    }

    events = transcript(call("exec", "wait"), Step(shell='ls "a"'), [])

    assert events[1:-1] == [
        ("response.output_item.added", {"output_index": 0, "item": asked | {"input": ""}}),
        ("response.output_item.done", {"output_index": 0, "item": asked}),
    ]


@pytest.mark.usefixtures("plain_ids")
def test_a_whole_answer_is_the_completed_response() -> None:
    """Without streaming there is what the last event would have held."""
    whole = openai.answer(call("shell"), Step(text="one two", chunks=2))

    assert whole == RESPONSE | {"status": "completed", "output": [message("one two")], "usage": USAGE}


def test_an_error_has_the_vendor_s_form() -> None:
    """Clients decide by its code whether to try again."""
    step = Step(status=429, error_type="insufficient_quota", code="insufficient_quota", message="no more")

    assert openai.failure(step) == {
        "error": {
            "message": "no more",
            "type": "insufficient_quota",
            "code": "insufficient_quota",
            "param": None,
        }
    }

"""Claude's stream, one row per rule."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.contracts.events import DecodedRecord
from posthouse.tools.claude import events


def _assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "assistant",
        "message": {"model": "m", "content": list(blocks)},
        "parent_tool_use_id": "p",
        "session_id": "s",
    }


TOOL_RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "done", "is_error": False}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "hello",
    "stop_reason": "end_turn",
    "duration_ms": 5,
    "duration_api_ms": 4,
    "total_cost_usd": 0.1,
    "num_turns": 1,
    "usage": {"input_tokens": 1, "cache_read_input_tokens": 7},
    "permission_denials": [],
}
COMPLETION = {
    "status": "success",
    "result_text": "hello",
    "stop_reason": "end_turn",
    "duration_ms": 5,
    "duration_api_ms": 4,
    "total_cost_usd": 0.1,
    "num_turns": 1,
    "usage": {"input_tokens": 1},
    "permission_denials": [],
    "errors": None,
}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(
            _assistant({"type": "text", "text": "hi\nthere"}),
            DecodedRecord(
                kind="assistant",
                provider_event_type="assistant.text",
                message="hi there",
                data={"text": "hi\nthere", "parent_tool_use_id": "p", "model": "m"},
            ),
            id="text",
        ),
        pytest.param(
            _assistant({"type": "thinking", "thinking": "hm", "signature": "x"}),
            DecodedRecord(
                kind="reasoning",
                provider_event_type="assistant.thinking",
                message="hm",
                data={"text": "hm", "signature": "x", "parent_tool_use_id": "p"},
            ),
            id="thinking",
        ),
        pytest.param(
            _assistant({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}),
            DecodedRecord(
                kind="action_request",
                provider_event_type="assistant.tool_use",
                message="Bash(ls)",
                data={
                    "action_id": "t1",
                    "action_kind": "tool_use",
                    "name": "Bash",
                    "arguments": {"command": "ls"},
                    "arguments_summary": "ls",
                    "parent_tool_use_id": "p",
                },
            ),
            id="tool use",
        ),
        pytest.param(
            _assistant(TOOL_RESULT),
            DecodedRecord(
                kind="action_result",
                provider_event_type="assistant.tool_result",
                message="done",
                data={
                    "action_id": "t1",
                    "action_kind": "tool_use",
                    "status": "success",
                    "result_summary": "done",
                    "is_error": False,
                    "parent_tool_use_id": "p",
                },
            ),
            id="tool result inside assistant",
        ),
        pytest.param(
            {
                "type": "user",
                "message": {
                    "content": [
                        {
                            **TOOL_RESULT,
                            "is_error": True,
                            "content": [{"type": "text", "text": "no such file"}],
                        }
                    ]
                },
            },
            DecodedRecord(
                kind="action_result",
                provider_event_type="user.tool_result",
                message="no such file",
                data={
                    "action_id": "t1",
                    "action_kind": "tool_use",
                    "status": "error",
                    "result_summary": "no such file",
                    "is_error": True,
                    "parent_tool_use_id": None,
                },
            ),
            id="a failed tool result inside user, where the CLI puts it",
        ),
        pytest.param(
            RESULT,
            DecodedRecord(kind="completion", provider_event_type="result", message="hello", data=COMPLETION),
            id="result",
        ),
        pytest.param(
            {**RESULT, "is_error": True},
            DecodedRecord(
                kind="completion",
                provider_event_type="result",
                message="hello",
                data={**COMPLETION, "status": "error"},
            ),
            id="an error of the API is an error although its subtype is success",
        ),
        pytest.param(
            {"type": "result", "subtype": "error_max_turns", "errors": ["enough"]},
            DecodedRecord(
                kind="completion",
                provider_event_type="result",
                message='["enough"]',
                data={
                    **dict.fromkeys(COMPLETION),
                    "status": "error_max_turns",
                    "errors": ["enough"],
                },
            ),
            id="a result without text tells its errors",
        ),
        pytest.param(
            {"type": "system", "subtype": "task_progress", "task_id": "t", "summary": "half"},
            DecodedRecord(
                kind="progress",
                provider_event_type="system.task_progress",
                message="half",
                data={
                    "subtype": "task_progress",
                    "task_id": "t",
                    "status": None,
                    "summary": "half",
                    "last_tool_name": None,
                    "usage": None,
                },
            ),
            id="system",
        ),
        pytest.param(
            {"type": "user", "message": {"content": [{"type": "text", "text": "[interrupted]"}]}},
            DecodedRecord(
                kind="passthrough",
                provider_event_type="user",
                message="user",
                data={"summary": '{"type": "text", "text": "[interrupted]"}'},
            ),
            id="what a user says passes through",
        ),
        pytest.param(
            {"type": "rate_limit_event", "n": 1},
            DecodedRecord(
                kind="passthrough",
                provider_event_type="rate_limit_event",
                message="rate_limit_event",
                data={"summary": '{"type": "rate_limit_event", "n": 1}'},
            ),
            id="an unknown type passes through",
        ),
        pytest.param(
            {},
            DecodedRecord(
                kind="passthrough", provider_event_type="unknown", message="unknown", data={"summary": "{}"}
            ),
            id="no type at all",
        ),
    ],
)
def test_a_record_means(record: dict[str, Any], expected: DecodedRecord) -> None:
    """Each record of the stream has one canonical meaning."""
    assert events.decode(record) == [expected]


def test_one_record_may_say_several_things() -> None:
    """Every block of a message is an event of its own, in order."""
    record = _assistant({"type": "text", "text": "a"}, {"type": "tool_use", "id": "t", "name": "Bash"})

    assert [event.provider_event_type for event in events.decode(record)] == [
        "assistant.text",
        "assistant.tool_use",
    ]


def test_a_message_that_is_bare_text_is_text() -> None:
    """Content may be a string instead of blocks."""
    [event] = events.decode({"type": "assistant", "message": {"content": "hi"}})

    assert (event.provider_event_type, event.message) == ("assistant.text", "hi")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "message", "usage", "input", "id", "result", "name"]),
            inner | st.sampled_from(["text", "tool_use", "tool_result", "thinking"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    kind=st.sampled_from(["assistant", "user", "result", "system", "odd"]),
    rest=st.dictionaries(st.sampled_from(["message", "subtype", "usage", "result", "errors"]), _JSON),
)
def test_no_record_of_any_shape_stops_the_decoder(kind: str, rest: dict[str, Any]) -> None:
    """Whatever a new version writes, each record becomes events that can be stored."""
    decoded = events.decode({**rest, "type": kind})

    assert decoded
    json.dumps([event.data for event in decoded])

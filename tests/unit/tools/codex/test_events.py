"""Codex's stream, one row per rule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.contracts.events import DecodedRecord
from posthouse.tools.codex import events

COMMAND = {"id": "i1", "type": "command_execution", "command": "ls", "aggregated_output": "a\nb\n"}
COMMAND_DATA = {
    "action_id": "i1",
    "action_kind": "command_execution",
    "name": "command_execution",
    "arguments_summary": "ls",
    "command": "ls",
}
MCP = {
    "id": "i2",
    "type": "mcp_tool_call",
    "server": "docs",
    "tool": "find",
    "arguments": {"q": "x"},
    "status": "failed",
    "error": {"message": "no such page"},
}
CHANGES = [{"path": "/w/a.py", "kind": "add"}, {"path": "/w/b.py", "kind": "update"}]


def _item(phase: str, **item: Any) -> dict[str, Any]:
    return {"type": f"item.{phase}", "item": item}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(
            {"type": "thread.started", "thread_id": "t"},
            DecodedRecord(
                kind="session",
                provider_event_type="thread.started",
                message="session t",
                data={"session_id": "t"},
            ),
            id="the conversation",
        ),
        pytest.param(
            {"type": "turn.started"},
            DecodedRecord(
                kind="progress",
                provider_event_type="turn.started",
                message="turn started",
                data={"summary": "turn started"},
            ),
            id="a turn's begin",
        ),
        pytest.param(
            {"type": "turn.completed", "usage": {"input_tokens": 1, "reasoning_output_tokens": 2}},
            DecodedRecord(
                kind="completion",
                provider_event_type="turn.completed",
                message="success",
                data={"status": "success", "usage": {"input_tokens": 1}},
            ),
            id="a turn's good end",
        ),
        pytest.param(
            {"type": "turn.failed", "error": {"message": "bad\nrequest"}},
            DecodedRecord(
                kind="completion",
                provider_event_type="turn.failed",
                message="bad request",
                data={"status": "error", "error": {"message": "bad\nrequest"}},
            ),
            id="a turn's bad end",
        ),
        pytest.param(
            {"type": "error", "message": "Reconnecting... 1/5"},
            DecodedRecord(
                kind="diagnostic",
                provider_event_type="error",
                message="Reconnecting... 1/5",
                data={"severity": "error", "text": "Reconnecting... 1/5"},
            ),
            id="an error record ends nothing",
        ),
        pytest.param(
            _item("completed", id="i", type="error", message="unknown model"),
            DecodedRecord(
                kind="diagnostic",
                provider_event_type="item.completed.error",
                message="unknown model",
                data={"severity": "warning", "item_id": "i", "text": "unknown model"},
            ),
            id="an error item is a warning",
        ),
        pytest.param(
            _item("updated", id="i", type="agent_message", text="so\nfar"),
            DecodedRecord(
                kind="assistant",
                provider_event_type="item.updated.agent_message",
                message="so far",
                data={"text": "so\nfar", "item_id": "i"},
            ),
            id="an answer so far",
        ),
        pytest.param(
            _item("completed", id="i", type="reasoning", text="hm"),
            DecodedRecord(
                kind="reasoning",
                provider_event_type="item.completed.reasoning",
                message="hm",
                data={"text": "hm", "item_id": "i"},
            ),
            id="a thought",
        ),
        pytest.param(
            _item(
                "started", id="i", type="todo_list", items=[{"text": "a", "completed": True}, {"text": "b"}]
            ),
            DecodedRecord(
                kind="progress",
                provider_event_type="item.started.todo_list",
                message="1 of 2 done",
                data={
                    "summary": "1 of 2 done",
                    "item_id": "i",
                    "items": [{"text": "a", "completed": True}, {"text": "b"}],
                },
            ),
            id="a plan",
        ),
        pytest.param(
            {"type": "item.started", "item": {**COMMAND, "aggregated_output": "", "status": "in_progress"}},
            DecodedRecord(
                kind="action_request",
                provider_event_type="item.started.command_execution",
                message="command_execution(ls)",
                data=COMMAND_DATA,
            ),
            id="a command",
        ),
        pytest.param(
            {"type": "item.completed", "item": {**COMMAND, "exit_code": 0, "status": "completed"}},
            DecodedRecord(
                kind="action_result",
                provider_event_type="item.completed.command_execution",
                message="a b",
                data={**COMMAND_DATA, "status": "completed", "result_summary": "a b", "exit_code": 0},
            ),
            id="a command's result",
        ),
        pytest.param(
            {"type": "item.updated", "item": {**COMMAND, "exit_code": 1, "status": "failed"}},
            DecodedRecord(
                kind="action_result",
                provider_event_type="item.updated.command_execution",
                message="a b",
                data={**COMMAND_DATA, "status": "failed", "result_summary": "a b", "exit_code": 1},
            ),
            id="an update that ends a command",
        ),
        pytest.param(
            {"type": "item.completed", "item": MCP},
            DecodedRecord(
                kind="action_result",
                provider_event_type="item.completed.mcp_tool_call",
                message="no such page",
                data={
                    "action_id": "i2",
                    "action_kind": "mcp_tool_call",
                    "name": "docs.find",
                    "arguments_summary": '{"q": "x"}',
                    "arguments": {"q": "x"},
                    "status": "failed",
                    "result_summary": "no such page",
                    "error": {"message": "no such page"},
                },
            ),
            id="a failed tool call",
        ),
        pytest.param(
            _item("completed", id="i3", type="file_change", changes=CHANGES, status="completed"),
            DecodedRecord(
                kind="action_result",
                provider_event_type="item.completed.file_change",
                message="completed",
                data={
                    "action_id": "i3",
                    "action_kind": "file_change",
                    "name": "file_change",
                    "arguments_summary": "add /w/a.py, update /w/b.py",
                    "changes": CHANGES,
                    "status": "completed",
                    "result_summary": "completed",
                },
            ),
            id="changed files",
        ),
        pytest.param(
            _item("started", id="i4", type="web_search", query="posts"),
            DecodedRecord(
                kind="action_request",
                provider_event_type="item.started.web_search",
                message="web_search(posts)",
                data={
                    "action_id": "i4",
                    "action_kind": "web_search",
                    "name": "web_search",
                    "arguments_summary": "posts",
                    "query": "posts",
                },
            ),
            id="a search",
        ),
        pytest.param(
            {"type": "item.updated", "item": {**COMMAND, "status": "in_progress"}},
            DecodedRecord(
                kind="passthrough",
                provider_event_type="item.updated.command_execution",
                message="item.updated.command_execution",
                data={
                    "summary": '{"id": "i1", "type": "command_execution", "command": "ls", '
                    '"aggregated_output": "a\\nb\\n", "status": "in_progress"}'
                },
            ),
            id="a command that goes on",
        ),
        pytest.param(
            _item("started", id="i", type="agent_message", text=""),
            DecodedRecord(
                kind="passthrough",
                provider_event_type="item.started.agent_message",
                message="item.started.agent_message",
                data={"summary": '{"id": "i", "type": "agent_message", "text": ""}'},
            ),
            id="an answer that has not begun",
        ),
        pytest.param(
            {"type": "new.thing"},
            DecodedRecord(
                kind="passthrough",
                provider_event_type="new.thing",
                message="new.thing",
                data={"summary": '{"type": "new.thing"}'},
            ),
            id="something unknown",
        ),
    ],
)
def test_a_record_is_told_in_the_shared_vocabulary(record: dict[str, Any], expected: DecodedRecord) -> None:
    """Each kind of record has its kind of event, with the keys that readers rely on."""
    assert events.decode(record) == [expected]


def test_the_conversation_is_known_from_its_first_record() -> None:
    """No other record tells it."""
    assert events.session_id({"type": "thread.started", "thread_id": "t"}) == "t"
    assert events.session_id({"type": "turn.started"}) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_KINDS = st.sampled_from(["item.completed", "item.started", "error", "turn.failed", "turn.completed"])
_ITEMS = st.sampled_from(["agent_message", "todo_list", "error", "file_change", "mcp_tool_call", "other"])
_KEYS = st.sampled_from(["text", "items", "changes", "arguments", "message", "error", "status", "result"])


@given(_KINDS, _ITEMS, st.dictionaries(_KEYS, _JSON, max_size=4))
def test_a_record_of_any_shape_is_told_somehow(kind: str, item: str, fields: dict[str, Any]) -> None:
    """A new version of the CLI must not end a turn's telling."""
    assert events.decode({"type": kind, "item": {"type": item, **fields}, **fields})

"""Gemini CLI's stream in the canonical vocabulary, on lines that the real one wrote."""

from collections.abc import Mapping
from typing import Any

import pytest

from posthouse.contracts.events import DecodedRecord
from posthouse.tools.gemini import events

SESSION = "422c51cf-f422-4c17-8c75-76d4be5eb562"
STATS = {"total_tokens": 15, "input_tokens": 10, "output_tokens": 5, "cached": 0, "duration_ms": 356}


@pytest.mark.parametrize(
    ("record", "decoded"),
    [
        pytest.param(
            {"type": "init", "session_id": SESSION, "model": "gemini-2.5-flash"},
            DecodedRecord(
                kind="session",
                provider_event_type="init",
                message="session started (gemini-2.5-flash)",
                data={"session_id": SESSION, "model": "gemini-2.5-flash"},
            ),
            id="init",
        ),
        pytest.param(
            {"type": "message", "role": "assistant", "content": "O\nK", "delta": True},
            DecodedRecord(
                kind="assistant",
                provider_event_type="message",
                message="O K",
                data={"text": "O\nK", "delta": True, "role": "assistant"},
            ),
            id="a piece of the answer",
        ),
        pytest.param(
            {
                "type": "tool_use",
                "tool_name": "run_shell_command",
                "tool_id": "call-1",
                "parameters": {"command": "ls", "description": "look"},
            },
            DecodedRecord(
                kind="action_request",
                provider_event_type="tool_use",
                message="run_shell_command(ls)",
                data={
                    "action_id": "call-1",
                    "action_kind": "tool_use",
                    "name": "run_shell_command",
                    "arguments": {"command": "ls", "description": "look"},
                    "arguments_summary": "ls",
                },
            ),
            id="a request for a tool",
        ),
        pytest.param(
            {"type": "tool_result", "tool_id": "call-1", "status": "success", "output": "made"},
            DecodedRecord(
                kind="action_result",
                provider_event_type="tool_result",
                message="made",
                data={
                    "action_id": "call-1",
                    "action_kind": "tool_use",
                    "status": "success",
                    "result_summary": "made",
                    "error": None,
                },
            ),
            id="its result",
        ),
        pytest.param(
            {
                "type": "tool_result",
                "tool_id": "call-1",
                "error": {"type": "tool_not_registered", "message": "not found"},
            },
            DecodedRecord(
                kind="action_result",
                provider_event_type="tool_result",
                message="not found",
                data={
                    "action_id": "call-1",
                    "action_kind": "tool_use",
                    "status": "error",
                    "result_summary": "not found",
                    "error": {"type": "tool_not_registered", "message": "not found"},
                },
            ),
            id="its failure",
        ),
        pytest.param(
            {"type": "error", "severity": "warning", "message": "Loop detected"},
            DecodedRecord(
                kind="diagnostic",
                provider_event_type="error",
                message="Loop detected",
                data={"severity": "warning", "text": "Loop detected"},
            ),
            id="a warning",
        ),
        pytest.param(
            {"type": "result", "status": "success", "stats": STATS},
            DecodedRecord(
                kind="completion",
                provider_event_type="result",
                message="success",
                data={
                    "status": "success",
                    "usage": {
                        "input_tokens": 10,
                        "cached_input_tokens": 0,
                        "output_tokens": 5,
                        "total_tokens": 15,
                        "duration_ms": 356,
                    },
                    "error": None,
                },
            ),
            id="success",
        ),
        pytest.param(
            {"type": "result", "status": "error", "error": {"type": "unknown", "message": "[API Error: x]"}},
            DecodedRecord(
                kind="completion",
                provider_event_type="result",
                message="[API Error: x]",
                data={
                    "status": "error",
                    "usage": None,
                    "error": {"type": "unknown", "message": "[API Error: x]"},
                },
            ),
            id="failure",
        ),
    ],
)
def test_a_line_of_the_stream_is_one_event(record: Mapping[str, Any], decoded: DecodedRecord) -> None:
    """Kind, type and data are those of the contract."""
    assert events.decode(record) == [decoded]


@pytest.mark.parametrize(
    "record",
    [
        {"type": "message", "role": "user", "content": "hi"},
        {"type": "something_new", "a": 1},
        {"type": 7},
        {},
    ],
)
def test_what_means_nothing_to_us_is_passed_through(record: Mapping[str, Any]) -> None:
    """The repeated prompt is no answer, and an unknown record no error."""
    [decoded] = events.decode(record)

    assert (decoded.kind, list(decoded.data or ())) == ("passthrough", ["summary"])


@pytest.mark.parametrize(
    "kind", ["init", "message", "tool_use", "tool_result", "error", "result"], ids=lambda kind: f"bare {kind}"
)
def test_a_record_that_lacks_everything_is_still_decoded(kind: str) -> None:
    """A newer CLI may leave fields out."""
    assert len(events.decode({"type": kind})) == 1


def test_the_conversation_is_told_by_the_first_line() -> None:
    """The shared reading finds it."""
    assert events.session_id({"type": "init", "session_id": SESSION}) == SESSION
    assert events.PROVIDER == "gemini"

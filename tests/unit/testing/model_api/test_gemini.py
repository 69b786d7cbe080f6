"""Gemini's API, request by request and chunk by chunk."""

from typing import Any

import pytest

from posthouse.testing.model_api import gemini
from posthouse.testing.model_api.script import Entry, Step
from posthouse.testing.model_api.wire import Call

STREAM = "/v1beta/models/flash-1:streamGenerateContent?alt=sse"
CALL = Call(model="flash-1", history=[], tools=["run_shell_command"], effort=None, is_streaming=True)
USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
SHELL = {
    "functionCall": {
        "id": "call",
        "name": "run_shell_command",
        "args": {"command": "ls", "description": "scripted command"},
    }
}


def chunk(*parts: dict[str, Any]) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate], "modelVersion": "flash-1", "responseId": "response"}


def last_chunk(*parts: dict[str, Any]) -> dict[str, Any]:
    last = chunk(*parts)
    last["candidates"][0]["finishReason"] = "STOP"
    return last | {"usageMetadata": USAGE}


@pytest.mark.parametrize(
    ("contents", "history"),
    [
        (
            [{"role": "user", "parts": [{"text": "context"}, {"text": "hi"}, {"text": " "}]}],
            [Entry("user", "context"), Entry("user", "hi")],
        ),
        ([{"role": "model", "parts": [{"text": "on it"}]}], [Entry("assistant")]),
        ([{"role": "user", "parts": [{"functionResponse": {}}]}], [Entry("tool")]),
    ],
)
def test_the_conversation_is_read(contents: list[dict[str, Any]], history: list[Entry]) -> None:
    """Each text of the user counts for itself."""
    assert gemini.read(STREAM, {"contents": contents}).history == history


def test_the_request_is_read() -> None:
    """The path names the model and whether to stream; the body names tools and effort."""
    body = {
        "tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}, {"googleSearch": {}}],
        "generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}},
    }

    assert gemini.read(STREAM, body) == Call(
        model="flash-1", history=[], tools=["a", "b"], effort={"thinkingLevel": "HIGH"}, is_streaming=True
    )
    assert not gemini.read("/v1beta/models/flash-1:generateContent", body).is_streaming


@pytest.mark.parametrize(
    ("config", "answer"),
    [
        ({"responseMimeType": "application/json"}, "{}"),
        ({"responseMimeType": "text/plain"}, None),
        (
            {
                "responseJsonSchema": {
                    "type": "object",
                    "properties": {
                        "choice": {"type": "string", "enum": ["flash", "pro"]},
                        "why": {"type": "STRING"},
                        "steps": {"type": "array"},
                        "score": {"type": "number"},
                        "done": {"type": "boolean"},
                        "inner": {"properties": {"n": {"type": "integer"}}},
                    },
                }
            },
            '{"choice": "flash", "why": "mock", "steps": [], "score": 1, "done": false, "inner": {"n": 1}}',
        ),
    ],
)
def test_a_schema_is_obeyed(config: dict[str, Any], answer: str | None) -> None:
    """A side call that wants JSON gets the smallest value that fits, whatever the script says."""
    demanded = gemini.read(STREAM, {"generationConfig": config}).demanded

    assert demanded == (None if answer is None else Step(text=answer))


@pytest.mark.usefixtures("plain_ids")
def test_text_streams_in_its_deltas() -> None:
    """Each delta is a chunk; an empty one ends it, with the usage."""
    events = [event.payload for event in gemini.events(CALL, Step(text="one two"), ["one ", "two"])]

    assert events == [chunk({"text": "one "}), chunk({"text": "two"}), last_chunk({"text": ""})]


@pytest.mark.usefixtures("plain_ids")
def test_thinking_comes_first_and_a_tool_last() -> None:
    """Reasoning is marked as a thought; the tool ends the answer."""
    events = [event.payload for event in gemini.events(CALL, Step(thinking="hm", shell="ls"), ["unused"])]

    assert events == [chunk({"text": "**Thinking**\nhm", "thought": True}), last_chunk(SHELL)]


@pytest.mark.usefixtures("plain_ids")
@pytest.mark.parametrize(
    ("step", "parts"),
    [
        (Step(text="on it", shell="ls"), [{"text": "on it"}, SHELL]),
        (Step(shell="ls"), [SHELL]),
        (Step(), [{"text": ""}]),
    ],
)
def test_a_whole_answer_holds_all_parts(step: Step, parts: list[dict[str, Any]]) -> None:
    """Without streaming there is one chunk, and it is never without parts."""
    assert gemini.answer(CALL, step) == last_chunk(*parts)


@pytest.mark.parametrize(("status", "name"), [(429, "RESOURCE_EXHAUSTED"), (418, "UNKNOWN")])
def test_an_error_has_the_vendor_s_form(status: int, name: str) -> None:
    """Statuses have names there."""
    assert gemini.failure(Step(status=status, message="no")) == {
        "error": {"code": status, "message": "no", "status": name}
    }

"""Gemini: `POST /v1beta/models/<model>:generateContent` and `:streamGenerateContent`."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from posthouse.testing.model_api.script import Entry, Step
from posthouse.testing.model_api.wire import Call, Event, Payload, new_id, tool_call

_MODEL = re.compile(r"/models/([^:]+):")
_STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def read(path: str, body: Payload) -> Call:
    named = _MODEL.search(path)
    config = body.get("generationConfig") or {}
    return Call(
        model=named.group(1) if named else None,
        history=[entry for message in body.get("contents") or [] for entry in _entries(message)],
        tools=[
            declared.get("name", "")
            for tool in body.get("tools") or []
            for declared in tool.get("functionDeclarations") or []
        ],
        effort=config.get("thinkingConfig"),
        is_streaming=":streamGenerateContent" in path,
        demanded=_demanded(config),
    )


def _entries(message: Payload) -> Iterator[Entry]:
    parts = message.get("parts") or []
    if message.get("role") == "model":
        yield Entry("assistant")
        return
    if any("functionResponse" in part for part in parts):
        yield Entry("tool")
    yield from (Entry("user", part["text"]) for part in parts if str(part.get("text", "")).strip())


def _demanded(config: Payload) -> Step | None:
    """The answer that fits the schema a side call asks for, when it does."""
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    if schema is None and config.get("responseMimeType") != "application/json":
        return None
    return Step(text=json.dumps(smallest_instance(schema)))


def smallest_instance(schema: object) -> object:
    """A plausible value of a JSON schema, as small as can be."""
    if not isinstance(schema, dict):
        return {}
    if schema.get("enum"):
        return schema["enum"][0]
    kind = str(schema.get("type", "object")).lower()
    if kind == "object":
        return {name: smallest_instance(inner) for name, inner in (schema.get("properties") or {}).items()}
    samples: dict[str, object] = {"array": [], "number": 1, "integer": 1, "boolean": False}
    return samples.get(kind, "mock")


def answer(call: Call, step: Step) -> Payload:
    asked = _function_calls(call, step)
    text: list[Payload] = [{"text": step.body}] if step.body or not asked else []
    return _chunk(call, new_id("response"), [*text, *asked], ended=step)


def events(call: Call, step: Step, deltas: Iterable[str]) -> Iterator[Event]:
    response_id = new_id("response")
    asked = _function_calls(call, step)
    if step.thinking:
        thought = {"text": f"**Thinking**\n{step.thinking}", "thought": True}
        yield Event(_chunk(call, response_id, [thought]))
    if step.body or not asked:
        for delta in deltas:
            yield Event(_chunk(call, response_id, [{"text": delta}]))
    yield Event(_chunk(call, response_id, asked or [{"text": ""}], ended=step), is_last=True)


def failure(step: Step) -> Payload:
    status = step.status or 500
    told = {"code": status, "message": step.message, "status": _STATUS_NAMES.get(status, "UNKNOWN")}
    return {"error": told | dict(step.error_fields)}


def _function_calls(call: Call, step: Step) -> list[Payload]:
    tool = tool_call(step, call.tools)
    if tool is None:
        return []
    return [{"functionCall": {"id": new_id("call"), "name": tool.name, "args": tool.arguments}}]


def _chunk(
    call: Call, response_id: str, parts: Sequence[Payload], *, ended: Step | None = None
) -> dict[str, Any]:
    """One piece of an answer; the last one, of the step that *ended*, has the reason and the usage."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    chunk = {"candidates": [candidate], "modelVersion": call.model, "responseId": response_id}
    if ended is None:
        return chunk
    candidate["finishReason"] = "STOP"
    usage = {
        "promptTokenCount": ended.input_tokens,
        "candidatesTokenCount": ended.output_tokens,
        "totalTokenCount": ended.input_tokens + ended.output_tokens,
    }
    return chunk | {"usageMetadata": usage}

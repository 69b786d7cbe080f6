"""OpenAI Responses: `POST /v1/responses`."""

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from posthouse.testing.model_api.script import Entry, Step
from posthouse.testing.model_api.wire import Call, Event, Payload, new_id, tool_call


def read(path: str, body: Payload) -> Call:
    items = body.get("input")
    return Call(
        model=body.get("model"),
        history=[Entry("user", items)]
        if isinstance(items, str)
        else [entry for item in items or [] for entry in _entries(item)],
        tools=[str(tool.get("name") or tool.get("type") or "") for tool in body.get("tools") or []],
        effort=body.get("reasoning"),
        is_streaming=bool(body.get("stream")),
    )


def _entries(item: Payload) -> Iterator[Entry]:
    kind, role = item.get("type", "message"), item.get("role")
    if kind == "message" and role == "user":
        yield Entry("user", _text(item.get("content")))
    elif kind.endswith("_output"):
        yield Entry("tool")
    elif kind.endswith("_call") or (kind == "message" and role == "assistant"):
        yield Entry("assistant")


def _text(content: str | list[Payload] | None) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if "text" in part)


def answer(call: Call, step: Step) -> Payload:
    made = [item for item, _ in _items(call, step, step.deltas)]
    return _response(call) | {"status": "completed", "output": made, "usage": _usage(step)}


def events(call: Call, step: Step, deltas: Iterable[str]) -> Iterator[Event]:
    response = _response(call)
    yield _event("response.created", response=response | {"status": "in_progress", "output": []})
    made: list[Payload] = []
    for item, changes in _items(call, step, deltas):
        place = {"output_index": len(made)}
        yield _event("response.output_item.added", **place, item=item | _not_yet(item))
        for name, change in changes:
            yield _event(name, item_id=item["id"], **place, **change)
        yield _event("response.output_item.done", **place, item=item)
        made.append(item)
    finished = {"status": "completed", "output": made, "usage": _usage(step)}
    yield _event("response.completed", response=response | finished)


def failure(step: Step) -> Payload:
    return {
        "error": {"message": step.message, "type": step.error_type, "code": step.code, "param": None},
    }


def _items(
    call: Call, step: Step, deltas: Iterable[str]
) -> Iterator[tuple[dict[str, Any], Iterable[tuple[str, Payload]]]]:
    """The output items, each as it is in the end and with the events that lead there."""
    tool = tool_call(step, call.tools)
    if step.thinking:
        thought = {"summary_index": 0, "delta": step.thinking}
        summary = [{"type": "summary_text", "text": step.thinking}]
        item = {"type": "reasoning", "id": new_id("rs"), "summary": summary}
        yield item, [("response.reasoning_summary_text.delta", thought)]
    if step.body or not tool:
        content = [{"type": "output_text", "text": step.body, "annotations": []}]
        item = {"type": "message", "id": new_id("msg"), "role": "assistant", "content": content}
        changes = (("response.output_text.delta", {"content_index": 0, "delta": delta}) for delta in deltas)
        yield item | {"status": "completed"}, changes
    if tool:
        asked = {"name": tool.name, "call_id": new_id("call"), "arguments": json.dumps(tool.arguments)}
        yield {"type": "function_call", "id": new_id("fc"), "status": "completed"} | asked, []


def _not_yet(item: Payload) -> dict[str, Any]:
    """What differs in an item that has only been begun."""
    match item["type"]:
        case "reasoning":
            return {"summary": []}
        case "message":
            return {"status": "in_progress", "content": []}
        case _:
            return {"arguments": ""}


def _event(name: str, **fields: Any) -> Event:
    return Event({"type": name, **fields}, name)


def _response(call: Call) -> dict[str, Any]:
    return {
        "id": new_id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "model": call.model,
    }


def _usage(step: Step) -> Payload:
    return {
        "input_tokens": step.input_tokens,
        "output_tokens": step.output_tokens,
        "total_tokens": step.input_tokens + step.output_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }

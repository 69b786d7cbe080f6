"""OpenAI Responses: `POST /v1/responses`."""

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from posthouse.testing.model_api.script import Entry, Step
from posthouse.testing.model_api.wire import Call, Event, Payload, new_id, tool_call

#: Runs JavaScript that calls the tools proper; newer models have no other way to a shell.
_CODE_TOOL = "exec"


def read(path: str, body: Payload) -> Call:
    items = body.get("input")
    return Call(
        model=body.get("model"),
        history=[Entry("user", items)]
        if isinstance(items, str)
        else [entry for item in items or [] for entry in _entries(item)],
        tools=[*_tool_names(body.get("tools") or []), *_later_tool_names(items)],
        effort=body.get("reasoning"),
        is_streaming=bool(body.get("stream")),
    )


def _tool_names(tools: Iterable[Payload]) -> Iterator[str]:
    """The names of tools, also of those within namespaces."""
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _tool_names(tool.get("tools") or [])
        else:
            yield str(tool.get("name") or tool.get("type") or "")


def _later_tool_names(items: Any) -> Iterator[str]:
    """The names of tools that come as an item of the conversation, as codex sends them for newer models."""
    for item in items if isinstance(items, list) else []:
        if item.get("type") == "additional_tools":
            yield from _tool_names(item.get("tools") or [])


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
    completed = {"type": "response.completed", "response": response | finished}
    yield Event(completed, "response.completed", is_last=True)


def failure(step: Step) -> Payload:
    told = {"message": step.message, "type": step.error_type, "code": step.code, "param": None}
    return {"error": told | dict(step.error_fields)}


def _items(
    call: Call, step: Step, deltas: Iterable[str]
) -> Iterator[tuple[dict[str, Any], Iterable[tuple[str, Payload]]]]:
    """The output items, each as it is in the end and with the events that lead there."""
    asked = _tool_item(call, step)
    if step.thinking:
        thought = {"summary_index": 0, "delta": step.thinking}
        summary = [{"type": "summary_text", "text": step.thinking}]
        item = {"type": "reasoning", "id": new_id("rs"), "summary": summary}
        yield item, [("response.reasoning_summary_text.delta", thought)]
    if step.body or not asked:
        content = [{"type": "output_text", "text": step.body, "annotations": []}]
        item = {"type": "message", "id": new_id("msg"), "role": "assistant", "content": content}
        changes = (("response.output_text.delta", {"content_index": 0, "delta": delta}) for delta in deltas)
        yield item | {"status": "completed"}, changes
    if asked:
        yield asked, []


def _tool_item(call: Call, step: Step) -> dict[str, Any] | None:
    """The call of a tool that *step* asks for."""
    tool = tool_call(step, call.tools)
    if tool is None:
        return None
    item = {"id": new_id("fc"), "call_id": new_id("call"), "status": "completed"}
    if step.shell and tool.name not in call.tools and _CODE_TOOL in call.tools:
        source = f"text((await tools.exec_command({json.dumps({'cmd': step.shell})})).output)"
        return item | {"type": "custom_tool_call", "name": _CODE_TOOL, "input": source}
    arguments = json.dumps(tool.arguments)
    return item | {"type": "function_call", "name": tool.name, "arguments": arguments}


def _not_yet(item: Payload) -> dict[str, Any]:
    """What differs in an item that has only been begun."""
    match item["type"]:
        case "reasoning":
            return {"summary": []}
        case "message":
            return {"status": "in_progress", "content": []}
        case "custom_tool_call":
            return {"input": ""}
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

"""Anthropic Messages: `POST /v1/messages`."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from posthouse.testing.model_api.script import Entry, Step
from posthouse.testing.model_api.wire import Call, Event, Payload, new_id, tool_call


def read(path: str, body: Payload) -> Call:
    return Call(
        model=body.get("model"),
        history=[entry for message in body.get("messages") or [] for entry in _entries(message)],
        tools=[str(tool.get("name") or tool.get("type") or "") for tool in body.get("tools") or []],
        effort={name: body[name] for name in ("thinking", "output_config") if name in body} or None,
        is_streaming=bool(body.get("stream")),
    )


def _entries(message: Payload) -> Iterator[Entry]:
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        yield Entry("assistant")
    if role != "user":  # there are "system" messages in the middle of a conversation
        return
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    if any(block.get("type") == "tool_result" for block in blocks):
        yield Entry("tool")
    # One entry per block: after a failed turn the client merges two prompts into one message.
    for block in blocks:
        text = block.get("text", "") if block.get("type") == "text" else ""
        if text.strip() and not text.lstrip().startswith("<system-reminder>"):
            yield Entry("user", text)


def answer(call: Call, step: Step) -> Payload:
    blocks: list[Payload] = [{"type": "text", "text": step.body}] if step.body else []
    if tool := tool_call(step, call.tools):
        blocks.append({**_tool_block(tool.name), "input": tool.arguments})
    usage = {**_usage(step), "output_tokens": step.output_tokens}
    return {
        **_message(call, step),
        "content": blocks,
        "stop_reason": _stop_reason(call, step),
        "usage": usage,
    }


def events(call: Call, step: Step, deltas: Iterable[str]) -> Iterator[Event]:
    yield _event("message_start", message=_message(call, step))
    index = -1
    for index, (block, changes) in enumerate(_blocks(call, step, deltas)):
        yield _event("content_block_start", index=index, content_block=block)
        for change in changes:
            yield _event("content_block_delta", index=index, delta=change)
        yield _event("content_block_stop", index=index)
    stop = {"stop_reason": _stop_reason(call, step), "stop_sequence": None}
    yield _event("message_delta", delta=stop, usage={"output_tokens": step.output_tokens})
    yield Event({"type": "message_stop"}, "message_stop", is_last=True)


def _blocks(call: Call, step: Step, deltas: Iterable[str]) -> Iterator[tuple[Payload, Iterable[Payload]]]:
    """The content blocks, each as it starts and with what is added to it."""
    tool = tool_call(step, call.tools)
    if step.thinking:
        thought = {"type": "thinking_delta", "thinking": step.thinking}
        signature = {"type": "signature_delta", "signature": "c2ln"}
        yield {"type": "thinking", "thinking": "", "signature": ""}, (thought, signature)
    if step.body or not tool:
        yield {"type": "text", "text": ""}, ({"type": "text_delta", "text": delta} for delta in deltas)
    if tool:
        arguments = {"type": "input_json_delta", "partial_json": json.dumps(tool.arguments)}
        yield _tool_block(tool.name), (arguments,)


def failure(step: Step) -> Payload:
    error = {"type": step.error_type, "message": step.message} | dict(step.error_fields)
    return {"type": "error", "error": error, "request_id": new_id("req")}


def _event(name: str, **fields: Any) -> Event:
    return Event({"type": name, **fields}, name)


def _message(call: Call, step: Step) -> Mapping[str, Any]:
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": call.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(step),
    }


def _usage(step: Step) -> Mapping[str, int]:
    return {
        "input_tokens": step.input_tokens,
        "output_tokens": 1,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }


def _stop_reason(call: Call, step: Step) -> str:
    return "tool_use" if tool_call(step, call.tools) else "end_turn"


def _tool_block(name: str) -> Mapping[str, Any]:
    return {"type": "tool_use", "id": new_id("toolu"), "name": name, "input": {}}

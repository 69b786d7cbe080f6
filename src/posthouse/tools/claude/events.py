"""Decodes Claude Code's `stream-json` into canonical events. Standard library only.

Never raises: a record of unknown shape becomes a passthrough event with its type.
"""

from collections.abc import Mapping
from typing import Any

from posthouse.contracts.events import DecodedRecord, Provider
from posthouse.tools.records import one_line, session_id, usage

__all__ = ["PROVIDER", "decode", "session_id"]

PROVIDER: Provider = "claude"

_RESULT_KEYS = ("stop_reason", "duration_ms", "duration_api_ms", "total_cost_usd", "num_turns")
_SYSTEM_KEYS = ("task_id", "status", "summary", "last_tool_name")


def decode(record: Mapping[str, Any]) -> list[DecodedRecord]:
    """The events of one JSON object of the stream; an assistant record may have several."""
    kind = record.get("type")
    if kind in ("assistant", "user"):
        return _message(record, str(kind))
    if kind == "result":
        return [_result(record)]
    if kind == "system":
        return [_system(record)]
    return [_passthrough(record, str(kind or "unknown"))]


def _message(record: Mapping[str, Any], speaker: str) -> list[DecodedRecord]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    if speaker == "assistant" and isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    decoded = [_block(record, speaker, block) for block in blocks]
    return decoded or [_passthrough(record, speaker)]


def _block(record: Mapping[str, Any], speaker: str, block: Mapping[str, Any]) -> DecodedRecord:
    kind = block.get("type")
    if kind == "tool_result":
        return _tool_result(record, speaker, block)
    if speaker == "assistant" and kind == "text":
        return _text(record, block)
    if speaker == "assistant" and kind == "thinking":
        return _thinking(record, block)
    if speaker == "assistant" and kind == "tool_use":
        return _tool_use(record, block)
    name = speaker if speaker == "user" else f"{speaker}.{kind or 'unknown'}"
    return DecodedRecord(
        kind="passthrough", provider_event_type=name, message=name, data={"summary": one_line(block)}
    )


def _text(record: Mapping[str, Any], block: Mapping[str, Any]) -> DecodedRecord:
    text = _string(block.get("text"))
    return DecodedRecord(
        kind="assistant",
        provider_event_type="assistant.text",
        message=one_line(text),
        data={
            "text": text,
            "parent_tool_use_id": record.get("parent_tool_use_id"),
            "model": record["message"].get("model"),
        },
    )


def _thinking(record: Mapping[str, Any], block: Mapping[str, Any]) -> DecodedRecord:
    text = _string(block.get("thinking"))
    return DecodedRecord(
        kind="reasoning",
        provider_event_type="assistant.thinking",
        message=one_line(text),
        data={
            "text": text,
            "signature": block.get("signature"),
            "parent_tool_use_id": record.get("parent_tool_use_id"),
        },
    )


def _tool_use(record: Mapping[str, Any], block: Mapping[str, Any]) -> DecodedRecord:
    name, arguments = _string(block.get("name")), block.get("input")
    summary = _arguments_summary(arguments)
    return DecodedRecord(
        kind="action_request",
        provider_event_type="assistant.tool_use",
        message=one_line(f"{name}({summary})"),
        data={
            "action_id": block.get("id"),
            "action_kind": "tool_use",
            "name": name,
            "arguments": arguments,
            "arguments_summary": summary,
            "parent_tool_use_id": record.get("parent_tool_use_id"),
        },
    )


def _tool_result(record: Mapping[str, Any], speaker: str, block: Mapping[str, Any]) -> DecodedRecord:
    is_error = block.get("is_error") is True
    summary = one_line(_content_text(block.get("content")))
    return DecodedRecord(
        kind="action_result",
        provider_event_type=f"{speaker}.tool_result",
        message=summary,
        data={
            "action_id": block.get("tool_use_id"),
            "action_kind": "tool_use",
            "status": "error" if is_error else "success",
            "result_summary": summary,
            "is_error": is_error,
            "parent_tool_use_id": record.get("parent_tool_use_id"),
        },
    )


def _result(record: Mapping[str, Any]) -> DecodedRecord:
    # The subtype is "success" even for an error of the provider's API.
    status = "error" if record.get("is_error") is True else _string(record.get("subtype")) or "success"
    text, errors = record.get("result"), record.get("errors")
    return DecodedRecord(
        kind="completion",
        provider_event_type="result",
        message=one_line(text or errors or status),
        data={
            "status": status,
            "result_text": text,
            **{key: record.get(key) for key in _RESULT_KEYS},
            "usage": usage(record.get("usage")),
            "permission_denials": record.get("permission_denials"),
            "errors": errors,
        },
    )


def _system(record: Mapping[str, Any]) -> DecodedRecord:
    subtype = _string(record.get("subtype")) or "unknown"
    data = {
        "subtype": subtype,
        **{key: record.get(key) for key in _SYSTEM_KEYS},
        "usage": usage(record.get("usage")),
    }
    return DecodedRecord(
        kind="progress",
        provider_event_type=f"system.{subtype}",
        message=one_line(record.get("summary") or subtype),
        data=data,
    )


def _passthrough(record: Mapping[str, Any], name: str) -> DecodedRecord:
    summary = one_line(record)
    return DecodedRecord(
        kind="passthrough", provider_event_type=name, message=name, data={"summary": summary}
    )


def _arguments_summary(arguments: object) -> str:
    """A single argument as its bare value (such as a shell command), several as JSON."""
    if isinstance(arguments, Mapping) and len(arguments) == 1:
        return one_line(next(iter(arguments.values())))
    return one_line({} if arguments is None else arguments)


def _content_text(content: object) -> object:
    """The text of a tool's result, which is a string or a list of blocks."""
    if not isinstance(content, list):
        return "" if content is None else content
    texts = [block.get("text") for block in content if isinstance(block, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str)) or content


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""

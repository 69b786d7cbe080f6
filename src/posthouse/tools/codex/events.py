"""Decodes Codex's `exec --json` into canonical events. Standard library only.

Never raises: a record of unknown shape becomes a passthrough event with its type. Only `turn.completed` and
`turn.failed` end a turn: an `error` record also announces each reconnection, and an item of type `error` is
a warning. The usage of a resumed conversation is the sum over all its turns.
"""

from collections.abc import Callable, Mapping
from typing import Any

from posthouse.contracts.events import DecodedRecord, Provider
from posthouse.tools.records import one_line, session_id, usage

__all__ = ["PROVIDER", "decode", "session_id"]

PROVIDER: Provider = "codex"

#: The key of the arguments, by kind of action.
_ARGUMENT_KEYS = {
    "command_execution": "command",
    "mcp_tool_call": "arguments",
    "web_search": "query",
    "file_change": "changes",
}
_PHASES = ("started", "updated", "completed")


def decode(record: Mapping[str, Any]) -> list[DecodedRecord]:
    """The events of one JSON object of the stream."""
    kind = str(record.get("type") or "unknown")
    item, phase = record.get("item"), kind.removeprefix("item.")
    if kind.startswith("item.") and phase in _PHASES and isinstance(item, Mapping):
        return [_item(item, phase)]
    read = _RECORDS.get(kind)
    return [read(record, kind) if read else _passthrough(record, kind)]


def _thread_started(record: Mapping[str, Any], kind: str) -> DecodedRecord:
    identity = _string(record.get("thread_id"))
    return DecodedRecord(
        kind="session",
        provider_event_type=kind,
        message=one_line(f"session {identity}"),
        data={"session_id": identity or None},
    )


def _turn_started(record: Mapping[str, Any], kind: str) -> DecodedRecord:
    summary = "turn started"
    return DecodedRecord(
        kind="progress", provider_event_type=kind, message=summary, data={"summary": summary}
    )


def _turn_completed(record: Mapping[str, Any], kind: str) -> DecodedRecord:
    return DecodedRecord(
        kind="completion",
        provider_event_type=kind,
        message="success",
        data={"status": "success", "usage": usage(record.get("usage"))},
    )


def _turn_failed(record: Mapping[str, Any], kind: str) -> DecodedRecord:
    error = record.get("error")
    return DecodedRecord(
        kind="completion",
        provider_event_type=kind,
        message=one_line(_error_text(error) or "failed"),
        data={"status": "error", "error": error},
    )


def _error(record: Mapping[str, Any], kind: str) -> DecodedRecord:
    text = _error_text(record)
    return DecodedRecord(
        kind="diagnostic",
        provider_event_type=kind,
        message=one_line(text),
        data={"severity": "error", "text": text},
    )


def _item(item: Mapping[str, Any], phase: str) -> DecodedRecord:
    kind = _string(item.get("type")) or "unknown"
    name = f"item.{phase}.{kind}"
    if kind in ("agent_message", "reasoning") and phase != "started":
        return _speech(item, name, is_thought=kind == "reasoning")
    if kind == "todo_list":
        return _todo_list(item, name)
    if kind == "error":
        return _warning(item, name)
    if kind in _ARGUMENT_KEYS and phase == "started":
        return _action_request(item, name, kind)
    if kind in _ARGUMENT_KEYS and (phase == "completed" or item.get("status") != "in_progress"):
        return _action_result(item, name, kind)
    return _passthrough(item, name)


def _speech(item: Mapping[str, Any], name: str, *, is_thought: bool) -> DecodedRecord:
    text = _string(item.get("text"))
    return DecodedRecord(
        kind="reasoning" if is_thought else "assistant",
        provider_event_type=name,
        message=one_line(text),
        data={"text": text, "item_id": item.get("id")},
    )


def _todo_list(item: Mapping[str, Any], name: str) -> DecodedRecord:
    items = item.get("items")
    entries = [entry for entry in items if isinstance(entry, Mapping)] if isinstance(items, list) else []
    done = sum(entry.get("completed") is True for entry in entries)
    summary = f"{done} of {len(entries)} done"
    return DecodedRecord(
        kind="progress",
        provider_event_type=name,
        message=summary,
        data={"summary": summary, "item_id": item.get("id"), "items": items},
    )


def _warning(item: Mapping[str, Any], name: str) -> DecodedRecord:
    text = _error_text(item)
    return DecodedRecord(
        kind="diagnostic",
        provider_event_type=name,
        message=one_line(text),
        data={"severity": "warning", "item_id": item.get("id"), "text": text},
    )


def _action_request(item: Mapping[str, Any], name: str, kind: str) -> DecodedRecord:
    data = _request_data(item, kind)
    message = one_line(f"{data['name']}({data['arguments_summary']})")
    return DecodedRecord(kind="action_request", provider_event_type=name, message=message, data=data)


def _action_result(item: Mapping[str, Any], name: str, kind: str) -> DecodedRecord:
    summary = one_line(_result_of(item, kind))
    data = {**_request_data(item, kind), "status": item.get("status"), "result_summary": summary}
    if kind == "command_execution":
        data["exit_code"] = item.get("exit_code")
    if kind == "mcp_tool_call":
        data["error"] = item.get("error")
    return DecodedRecord(kind="action_result", provider_event_type=name, message=summary, data=data)


def _request_data(item: Mapping[str, Any], kind: str) -> dict[str, Any]:
    key = _ARGUMENT_KEYS[kind]
    return {
        "action_id": item.get("id"),
        "action_kind": kind,
        "name": _action_name(item, kind),
        "arguments_summary": _arguments_summary(item.get(key)),
        key: item.get(key),
    }


def _action_name(item: Mapping[str, Any], kind: str) -> str:
    if kind != "mcp_tool_call":
        return kind
    return ".".join(part for part in (_string(item.get("server")), _string(item.get("tool"))) if part) or kind


def _arguments_summary(arguments: object) -> str:
    """Changed files by their paths, anything else unchanged."""
    if isinstance(arguments, list) and all(isinstance(change, Mapping) for change in arguments):
        return one_line(", ".join(f"{change.get('kind')} {change.get('path')}" for change in arguments))
    return one_line("" if arguments is None else arguments)


def _result_of(item: Mapping[str, Any], kind: str) -> object:
    """The result of the action: its output, its error, or its status."""
    candidates = {
        "command_execution": (item.get("aggregated_output"),),
        "mcp_tool_call": (_error_text(item.get("error")), item.get("result")),
    }.get(kind, ())
    return next((candidate for candidate in candidates if candidate), item.get("status") or "done")


def _error_text(error: object) -> str:
    return _string(error.get("message") if isinstance(error, Mapping) else error)


def _passthrough(record: Mapping[str, Any], name: str) -> DecodedRecord:
    summary = one_line(record)
    return DecodedRecord(
        kind="passthrough", provider_event_type=name, message=name, data={"summary": summary}
    )


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


_RECORDS: Mapping[str, Callable[[Mapping[str, Any], str], DecodedRecord]] = {
    "thread.started": _thread_started,
    "turn.started": _turn_started,
    "turn.completed": _turn_completed,
    "turn.failed": _turn_failed,
    "error": _error,
}

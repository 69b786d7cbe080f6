"""Decodes Gemini CLI's `stream-json` into canonical events. Standard library only.

Never raises: a record of unknown shape becomes a passthrough event with its type.
"""

from collections.abc import Callable, Mapping
from typing import Any

from posthouse.contracts.events import DecodedRecord, Provider
from posthouse.tools.records import one_line, session_id, usage

__all__ = ["PROVIDER", "decode", "session_id"]

PROVIDER: Provider = "gemini"


def decode(record: Mapping[str, Any]) -> list[DecodedRecord]:
    """The events of one JSON object of the stream."""
    kind = _string(record.get("type"))
    reader = _READERS.get(kind)
    return [reader(record) if reader else _passthrough(record)]


def _init(record: Mapping[str, Any]) -> DecodedRecord:
    model = record.get("model")
    return DecodedRecord(
        kind="session",
        provider_event_type="init",
        message=one_line(f"session started ({model})" if model else "session started"),
        data={"session_id": session_id(record), "model": model},
    )


def _message(record: Mapping[str, Any]) -> DecodedRecord:
    if record.get("role") != "assistant":  # the CLI repeats the prompt
        return _passthrough(record)
    text = _string(record.get("content"))
    return DecodedRecord(
        kind="assistant",
        provider_event_type="message",
        message=one_line(text),
        data={"text": text, "delta": record.get("delta") is True, "role": "assistant"},
    )


def _tool_use(record: Mapping[str, Any]) -> DecodedRecord:
    name, arguments = _string(record.get("tool_name")), record.get("parameters")
    summary = _arguments_summary(arguments)
    return DecodedRecord(
        kind="action_request",
        provider_event_type="tool_use",
        message=one_line(f"{name}({summary})"),
        data={
            "action_id": record.get("tool_id"),
            "action_kind": "tool_use",
            "name": name,
            "arguments": arguments,
            "arguments_summary": summary,
        },
    )


def _tool_result(record: Mapping[str, Any]) -> DecodedRecord:
    error, output = record.get("error"), record.get("output")
    summary = one_line(output or _error_message(error) or "")
    return DecodedRecord(
        kind="action_result",
        provider_event_type="tool_result",
        message=summary,
        data={
            "action_id": record.get("tool_id"),
            "action_kind": "tool_use",
            "status": "error" if error else record.get("status") or "success",
            "result_summary": summary,
            "error": error,
        },
    )


def _error(record: Mapping[str, Any]) -> DecodedRecord:
    text = _string(record.get("message")) or one_line(record)
    return DecodedRecord(
        kind="diagnostic",
        provider_event_type="error",
        message=one_line(text),
        data={"severity": record.get("severity") or "error", "text": text},
    )


def _result(record: Mapping[str, Any]) -> DecodedRecord:
    error = record.get("error")
    status = "error" if error else record.get("status") or "success"
    return DecodedRecord(
        kind="completion",
        provider_event_type="result",
        message=one_line(_error_message(error) or status),
        data={"status": status, "usage": usage(record.get("stats")), "error": error},
    )


def _passthrough(record: Mapping[str, Any]) -> DecodedRecord:
    name = _string(record.get("type")) or "unknown"
    return DecodedRecord(
        kind="passthrough", provider_event_type=name, message=name, data={"summary": one_line(record)}
    )


def _error_message(error: object) -> object:
    """The message of an error, which is a string or an object with a message."""
    return error.get("message") if isinstance(error, Mapping) else error


def _arguments_summary(arguments: object) -> str:
    """The shell command or a single argument as its bare value, several as JSON."""
    if isinstance(arguments, Mapping):
        if command := _string(arguments.get("command")):
            return one_line(command)
        if len(arguments) == 1:
            return one_line(next(iter(arguments.values())))
    return one_line({} if arguments is None else arguments)


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


_READERS: Mapping[str, Callable[[Mapping[str, Any]], DecodedRecord]] = {
    "init": _init,
    "message": _message,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "error": _error,
    "result": _result,
}

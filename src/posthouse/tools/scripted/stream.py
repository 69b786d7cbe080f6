"""Claude's `stream-json` records, as written by the scripted agent. Pure except for random ids."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from posthouse.tools.scripted.directives import Failure

#: Each failure: the text, the HTTP status, the reason in the stream.
FAILURES: Mapping[Failure, tuple[str, int, str]] = {
    "400": ("API Error: 400 scripted bad request", 400, "api_error"),
    "overloaded": ("API Error: 529 Overloaded", 529, "api_error"),
    "context": ("Prompt is too long", 400, "prompt_too_long"),
    "limit": ("Usage limit reached", 429, "rate_limit"),
}
_DOLLARS_PER_WORD = 0.00001


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlessResult:
    """The result of a headless turn, without its answer."""

    subtype: str = "success"
    is_error: bool = False
    api_error_status: int | None = None
    terminal_reason: str = "completed"
    errors: Sequence[str] = ()
    exit_code: int = 0


def init(
    session_id: str, model: str, working_directory: str, version: str, permission_mode: str
) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "init",
        "cwd": working_directory,
        "session_id": session_id,
        "tools": ["Bash", "AskUserQuestion"],
        "mcp_servers": [],
        "model": model,
        "permissionMode": permission_mode,
        "slash_commands": ["clear", "compact"],
        "claude_code_version": version,
    }


def retry(attempt: int, attempts: int, delay_ms: int) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "api_retry",
        "attempt": attempt,
        "max_retries": attempts,
        "retry_delay_ms": delay_ms,
        "error_status": 529,
        "error": "overloaded",
    }


def assistant(model: str, block: Mapping[str, Any], *, error: str | None = None) -> dict[str, Any]:
    record: dict[str, Any] = {
        "type": "assistant",
        "message": {
            "id": f"msg_{os.urandom(8).hex()}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [dict(block)],
            "stop_reason": None,
        },
        "parent_tool_use_id": None,
    }
    return record if error is None else record | {"error": error}


def user(block: Mapping[str, Any]) -> dict[str, Any]:
    message = {"role": "user", "content": [dict(block)]}
    return {"type": "user", "message": message, "parent_tool_use_id": None}


def tool_use(action_id: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": action_id, "name": name, "input": dict(arguments)}


def tool_result(action_id: str, content: str, *, is_error: bool) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": action_id, "content": content, "is_error": is_error}


def result(
    ending: HeadlessResult,
    *,
    answer: str,
    prompt: str,
    duration_ms: int,
    denials: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    words_in, words_out = len(prompt.split()), len(answer.split())
    record: dict[str, Any] = {
        "type": "result",
        "subtype": ending.subtype,
        "is_error": ending.is_error,
        "api_error_status": ending.api_error_status,
        "duration_ms": duration_ms,
        "duration_api_ms": duration_ms,
        "num_turns": 1,
        "stop_reason": "end_turn" if ending.subtype == "success" else None,
        "total_cost_usd": round((words_in + words_out) * _DOLLARS_PER_WORD, 5),
        "usage": {"input_tokens": words_in, "cache_read_input_tokens": 0, "output_tokens": words_out},
        "permission_denials": [dict(denial) for denial in denials],
        "terminal_reason": ending.terminal_reason,
    }
    outcome = {"result": answer} if ending.subtype == "success" else {"errors": list(ending.errors)}
    return record | outcome

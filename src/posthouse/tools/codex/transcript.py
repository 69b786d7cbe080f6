"""Codex's own record of its conversations: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` in its home."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from posthouse.tools.tool import Exchange

_ROLLOUTS = "sessions/*/*/*/rollout-*.jsonl"
#: A prompt of a megabyte stands in a transcript twice.
_TAIL_BYTES = 8 * 1024 * 1024
_HEAD_BYTES = 1024 * 1024
_MAX_LOOKED_AT = 50


def exchanges(home: Path, working_directory: Path) -> list[Exchange]:
    """The conversation in *working_directory* that was written to last, oldest prompt first."""
    path = newest(home, working_directory)
    return [] if path is None else told(_events(path))


def told(events: Iterator[Mapping[str, Any]]) -> list[Exchange]:
    """What *events*, the rollout's records of what happened, say about prompts and turns."""
    found: list[Exchange] = []
    for event in events:
        payload = event["payload"]
        match payload.get("type"):
            case "task_started":
                # What is still open was killed: codex runs one turn at a time.
                found = [_closed(exchange, "interrupted", None) for exchange in found]
            case "item_completed" if (prompt := _user_text(payload.get("item"))) is not None:
                found.append(Exchange(prompt=prompt, submitted_at_utc=str(event.get("timestamp"))))
            case "user_message":
                prompt = str(payload.get("message"))
                found.append(Exchange(prompt=prompt, submitted_at_utc=str(event.get("timestamp"))))
            case "turn_aborted":
                found = [_closed(exchange, "interrupted", None) for exchange in found]
            case "task_complete":
                found = [_completed(exchange, payload) for exchange in found]
            case "error":
                found = [_closed(exchange, "error", _message_of(payload)) for exchange in found]
    return found


def _completed(exchange: Exchange, payload: Mapping[str, Any]) -> Exchange:
    if error := payload.get("error"):
        return _closed(exchange, "error", _message_of(error))
    answer = payload.get("last_agent_message")
    return _closed(exchange, "success", answer if isinstance(answer, str) else "")


def _closed(exchange: Exchange, outcome: Any, answer: str | None) -> Exchange:
    """*exchange* with its outcome, if it was open: prompts that steered one turn end together."""
    return exchange if exchange.outcome else replace(exchange, outcome=outcome, answer=answer)


def _message_of(error: object) -> str | None:
    message = error.get("message") if isinstance(error, Mapping) else None
    return message if isinstance(message, str) else None


def _user_text(item: object) -> str | None:
    """What the person wrote, if *item* is that."""
    if not isinstance(item, Mapping) or item.get("type") != "UserMessage":
        return None
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part)


def newest(home: Path, working_directory: Path) -> Path | None:
    """The file of the newest conversation in *working_directory*; None without one."""
    by_age = sorted(home.glob(_ROLLOUTS), key=_modified_at, reverse=True)
    where = str(working_directory.resolve())
    return next((path for path in by_age[:_MAX_LOOKED_AT] if _is_of(path, where)), None)


def _modified_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _is_of(path: Path, where: str) -> bool:
    """Whether a person or we held this conversation in *where*; an agent's own helpers leave rollouts too."""
    try:
        with path.open("rb") as stream:
            head = json.loads(stream.readline(_HEAD_BYTES))
            meta = head["payload"]
            return bool(meta["cwd"] == where and isinstance(meta["source"], str))
    except (OSError, ValueError, KeyError, TypeError):
        # It is just being begun, or cleaned up.
        return False


def _events(path: Path) -> Iterator[Mapping[str, Any]]:
    """The newest events, oldest first; a line that is not there whole is left out."""
    for line in _tail(path):
        if b'"event_msg"' not in line[:200]:
            continue
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and isinstance(record.get("payload"), dict):
            yield record


def _tail(path: Path) -> list[bytes]:
    """The last lines, the first of them perhaps not from its beginning."""
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _TAIL_BYTES))
        return stream.read(_TAIL_BYTES).split(b"\n")[:-1]

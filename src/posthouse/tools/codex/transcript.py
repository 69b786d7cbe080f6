"""Codex's own record of its conversations: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` in its home."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from posthouse.support import untrusted_files
from posthouse.tools import transcripts
from posthouse.tools.tool import Exchange
from posthouse.tools.transcripts import Record, Tally

_ROLLOUTS = "sessions/*/*/*/rollout-*.jsonl"
#: A prompt of a megabyte stands in a transcript twice.
_TAIL_BYTES = 8 * 1024 * 1024
_HEAD_BYTES = 1024 * 1024
_MAX_LOOKED_AT = 50
_TOKENS = (
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
)
_NAMES = {name: name for name in _TOKENS}
_Outcome = Literal["success", "interrupted", "error"]


def exchanges(home: Path, working_directory: Path) -> list[Exchange]:
    """The conversation in *working_directory* that was written to last, oldest prompt first."""
    path = newest(home, working_directory)
    if path is None:
        return []
    return told(transcripts.read(path, max_bytes=_TAIL_BYTES, containing=b'"event_msg"'))


def told(events: Iterable[Record]) -> list[Exchange]:
    """What *events*, the rollout's records of what happened, say about prompts and turns."""
    story = _Story()
    for event in events:
        story.add(event)
    return story.exchanges


class _Story:
    """The exchanges so far, and what the running turn has used."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self._tokens = Tally()
        self._all_tokens: object = None

    def add(self, event: Record) -> None:
        payload = event.fields.get("payload")
        if not isinstance(payload, Mapping):
            return
        match payload.get("type"):
            case "task_started":
                # What is still open was killed: codex runs one turn at a time.
                self._close("interrupted", None)
            case "item_completed" if (prompt := _user_text(payload.get("item"))) is not None:
                self._open(prompt, event)
            case "user_message":
                self._open(str(payload.get("message")), event)
            case "token_count":
                self._count(payload.get("info"))
            case "turn_aborted":
                self._close("interrupted", None)
            case "task_complete":
                self._close(*_completion(payload))
            case "error":
                self._close("error", _message_of(payload))

    def _open(self, prompt: str, event: Record) -> None:
        asked_at = str(event.fields.get("timestamp"))
        self.exchanges.append(Exchange(prompt=prompt, submitted_at_utc=asked_at, place=event.place))

    def _count(self, info: object) -> None:
        """Add what one request to the model used. It is told again whenever a rate limit changes."""
        if not isinstance(info, Mapping) or info.get("total_token_usage") == self._all_tokens:
            return
        self._all_tokens = info.get("total_token_usage")
        self._tokens.note(str(self._all_tokens), info.get("last_token_usage"), _NAMES)

    def _close(self, outcome: _Outcome, answer: str | None) -> None:
        """End every open exchange: prompts that steered one turn end together."""
        self.exchanges = transcripts.close(
            self.exchanges, outcome=outcome, answer=answer, usage=self._tokens.total()
        )
        self._tokens.clear()


def _completion(payload: Mapping[str, Any]) -> tuple[_Outcome, str | None]:
    if error := payload.get("error"):
        return "error", _message_of(error)
    answer = payload.get("last_agent_message")
    return "success", answer if isinstance(answer, str) else ""


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
        with untrusted_files.open_file(path) as stream:
            head = untrusted_files.decode_json(stream.readline(_HEAD_BYTES))
            meta = head["payload"]
            return bool(meta["cwd"] == where and isinstance(meta["source"], str))
    except (OSError, ValueError, KeyError, TypeError):
        # It is just being begun, or cleaned up.
        return False

"""Parses Codex's transcripts: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` in its home."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from posthouse.support import untrusted_files
from posthouse.tools import transcripts
from posthouse.tools.tool import Exchange
from posthouse.tools.transcripts import TokenCounter, TranscriptRecord

_ROLLOUTS = "sessions/*/*/*/rollout-*.jsonl"
#: Enough for a prompt of 1 MB, which a transcript contains twice.
_TAIL_BYTES = 8 * 1024 * 1024
_HEAD_BYTES = 1024 * 1024
_MAX_CANDIDATES = 50
_TOKENS = (
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
)
_TOKEN_NAMES = {name: name for name in _TOKENS}
_Outcome = Literal["success", "interrupted", "error"]


def exchanges(home: Path, working_directory: Path) -> list[Exchange]:
    """The most recently written conversation of *working_directory*, oldest prompt first."""
    path = newest(home, working_directory)
    if path is None:
        return []
    return parse(transcripts.read(path, max_bytes=_TAIL_BYTES, containing=b'"event_msg"'))


def parse(events: Iterable[TranscriptRecord]) -> list[Exchange]:
    """The exchanges in *events*, the event records of a rollout."""
    builder = _ExchangeBuilder()
    for event in events:
        builder.add(event)
    return builder.exchanges


class _ExchangeBuilder:
    """Builds exchanges from events; counts the tokens of the running turn."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self._tokens = TokenCounter()
        self._last_total: object = None

    def add(self, event: TranscriptRecord) -> None:
        payload = event.fields.get("payload")
        if not isinstance(payload, Mapping):
            return
        match payload.get("type"):
            case "task_started":
                # An open exchange was killed: codex runs one turn at a time.
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

    def _open(self, prompt: str, event: TranscriptRecord) -> None:
        submitted_at = str(event.fields.get("timestamp"))
        self.exchanges.append(Exchange(prompt=prompt, submitted_at_utc=submitted_at, position=event.position))

    def _count(self, info: object) -> None:
        """Add the usage of one model request. The record is repeated whenever a rate limit changes."""
        if not isinstance(info, Mapping) or info.get("total_token_usage") == self._last_total:
            return
        self._last_total = info.get("total_token_usage")
        self._tokens.add(str(self._last_total), info.get("last_token_usage"), _TOKEN_NAMES)

    def _close(self, outcome: _Outcome, answer: str | None) -> None:
        """End every open exchange: prompts that steered one turn end together."""
        self.exchanges = transcripts.close_exchanges(
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
    """The text of a user message; None for other items."""
    if not isinstance(item, Mapping) or item.get("type") != "UserMessage":
        return None
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part)


def newest(home: Path, working_directory: Path) -> Path | None:
    """The file of the most recently written conversation; None if there is none."""
    by_age = sorted(home.glob(_ROLLOUTS), key=_modified_at, reverse=True)
    folder = str(working_directory.resolve())
    return next((path for path in by_age[:_MAX_CANDIDATES] if _belongs_to(path, folder)), None)


def _modified_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _belongs_to(path: Path, folder: str) -> bool:
    """Whether this is a main conversation in *folder*; subagents write rollouts too."""
    try:
        with untrusted_files.open_file(path) as stream:
            head = untrusted_files.decode_json(stream.readline(_HEAD_BYTES))
            meta = head["payload"]
            return bool(meta["cwd"] == folder and isinstance(meta["source"], str))
    except (OSError, ValueError, KeyError, TypeError):
        # The file is being created or removed.
        return False

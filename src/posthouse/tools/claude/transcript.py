"""Parses Claude Code's transcripts: `projects/<folder>/<session>.jsonl` in its home.

A prompt is written within moments of Enter, and so are its end and its failure. An interruption is written
only after some output; otherwise the prompt stays open until the next one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from posthouse.tools import transcripts
from posthouse.tools.tool import Exchange
from posthouse.tools.transcripts import TokenCounter, TranscriptRecord

#: Enough for a prompt of 1 MB and the records before it.
_TAIL_BYTES = 4 * 1024 * 1024
_MAX_FOLDER_NAME = 200
_INTERRUPTED = "[Request interrupted by user"
#: Records that the program writes as the user: shell mode, its own commands, background tasks.
_NOT_A_PROMPT = re.compile(r"<(bash-|command-|local-command-|task-notification)")
#: Records that the program writes as the agent: errors, and the output before an interruption.
_SYNTHETIC = "<synthetic>"
#: Stop reasons that do not end the turn.
_NON_FINAL_STOP_REASONS = frozenset({None, "tool_use", "pause_turn"})
_TURN_END_SUBTYPES = frozenset({"turn_duration", "stop_hook_summary"})
#: Input is counted in three parts: new, written to the cache, read from it.
_TOKENS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)
_TOKEN_NAMES = {name: name for name in _TOKENS}
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_Outcome = Literal["success", "interrupted", "error"]


def exchanges(home: Path, working_directory: Path) -> list[Exchange]:
    """The most recently written conversation of *working_directory*, oldest prompt first."""
    path = newest(home, working_directory)
    return [] if path is None else parse(transcripts.read(path, max_bytes=_TAIL_BYTES))


def newest(home: Path, working_directory: Path) -> Path | None:
    """The file of the most recently written conversation; None if there is none."""
    return _newest(home / "projects" / folder_name(str(working_directory.resolve())))


def folder_name(working_directory: str) -> str:
    """The name of a folder's transcript folder; a long name is cut and gets a checksum."""
    units = working_directory.encode("utf-16-le", "surrogatepass")
    codes = [units[index] | units[index + 1] << 8 for index in range(0, len(units), 2)]
    name = "".join(chr(code) if chr(code).isascii() and chr(code).isalnum() else "-" for code in codes)
    if len(name) <= _MAX_FOLDER_NAME:
        return name
    return f"{name[:_MAX_FOLDER_NAME]}-{_checksum(codes)}"


def parse(records: Iterable[TranscriptRecord]) -> list[Exchange]:
    """The exchanges in *records*.

    Records are sorted by time: the first answer of a conversation may be written before its prompt.
    """
    builder = _ExchangeBuilder()
    for record in sorted(records, key=lambda record: str(record.fields.get("timestamp"))):
        builder.add(record)
    return builder.exchanges


class _ExchangeBuilder:
    """Builds exchanges from records; holds the answer in progress."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self._answer_texts: list[str] = []
        self._message_id: str | None = None
        self._tokens = TokenCounter()

    def add(self, record: TranscriptRecord) -> None:
        fields = record.fields
        if fields.get("isSidechain") is True or fields.get("isMeta") is True:
            return
        match fields.get("type"):
            case "user":
                self._add_user(record)
            case "assistant":
                self._add_assistant(fields)
            case "attachment":
                self._add_attachment(record)
            case "system" if fields.get("subtype") in _TURN_END_SUBTYPES:
                self._close("success")

    def _add_user(self, record: TranscriptRecord) -> None:
        text = _text(record.fields)
        if text.startswith(_INTERRUPTED):
            self._close("interrupted")
        elif text and not record.fields.get("isCompactSummary") and not _NOT_A_PROMPT.match(text):
            # An open exchange was killed, or withdrawn before any output.
            self._close("interrupted")
            self._open(text, record)

    def _add_attachment(self, record: TranscriptRecord) -> None:
        """A prompt that joins the running turn."""
        attachment = record.fields.get("attachment")
        if not isinstance(attachment, Mapping) or attachment.get("type") != "queued_command":
            return
        if attachment.get("commandMode", "prompt") == "prompt":
            prompt = attachment.get("prompt")
            self._open(prompt if isinstance(prompt, str) else _blocks_text(prompt), record)

    def _add_assistant(self, record: Mapping[str, Any]) -> None:
        message = record.get("message")
        if not isinstance(message, Mapping):
            return
        text = _text(record)
        if message.get("id") != self._message_id:
            self._answer_texts, self._message_id = [], message.get("id")
        if text:
            self._answer_texts.append(text)
        self._tokens.add(message.get("id"), message.get("usage"), _TOKEN_NAMES)
        if record.get("isApiErrorMessage") is True:
            self._close("error")
        elif (
            text
            and message.get("model") != _SYNTHETIC
            and message.get("stop_reason") not in _NON_FINAL_STOP_REASONS
        ):
            self._close("success")

    def _open(self, prompt: str, record: TranscriptRecord) -> None:
        self._answer_texts = []
        submitted_at = str(record.fields.get("timestamp"))
        self.exchanges.append(
            Exchange(prompt=prompt, submitted_at_utc=submitted_at, position=record.position)
        )

    def _close(self, outcome: _Outcome) -> None:
        """End every open exchange: prompts that joined one turn end together."""
        text = "\n\n".join(self._answer_texts)
        answer = text if text or outcome == "success" else None
        self.exchanges = transcripts.close_exchanges(
            self.exchanges, outcome=outcome, answer=answer, usage=self._tokens.total()
        )
        self._tokens.clear()


def _text(record: Mapping[str, Any]) -> str:
    message = record.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    return content if isinstance(content, str) else _blocks_text(content)


def _blocks_text(content: object) -> str:
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _checksum(codes: Sequence[int]) -> str:
    """The usual JavaScript string hash (31 * h + c), in base 36."""
    total = 0
    for code in codes:
        total = (total * 31 + code) & 0xFFFFFFFF
    number = abs(total - (1 << 32) if total >> 31 else total)
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits or "0"


def _newest(folder: Path) -> Path | None:
    """The most recently written conversation, without those of subagents."""
    found = [path for path in folder.glob("*.jsonl") if not path.name.startswith("agent-")]
    return max(found, key=_modified_at, default=None)


def _modified_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0

"""Claude Code's own record of its conversations: `projects/<folder>/<session>.jsonl` in its home.

A prompt is on record within moments of its Enter. So are its end and its failure; of an interruption only if
something had been answered, else the prompt stands there without an end until the next one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from posthouse.tools import transcripts
from posthouse.tools.tool import Exchange
from posthouse.tools.transcripts import Record, Tally

#: A prompt of a megabyte, and what came before it.
_TAIL_BYTES = 4 * 1024 * 1024
_MAX_FOLDER_NAME = 200
_INTERRUPTED = "[Request interrupted by user"
#: What the program notes in a person's name: shell mode, its own commands, what runs in the background.
_NOT_SAID = re.compile(r"<(bash-|command-|local-command-|task-notification)")
#: Written in the agent's name by the program: errors, and what was said before an interruption.
_SYNTHETIC = "<synthetic>"
#: Reasons to stop that do not end the turn.
_GOES_ON = frozenset({None, "tool_use", "pause_turn"})
_TURN_ENDS = frozenset({"turn_duration", "stop_hook_summary"})
#: Of the input, these three are told apart: new, written to the cache, read from it.
_TOKENS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)
_NAMES = {name: name for name in _TOKENS}
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_Outcome = Literal["success", "interrupted", "error"]


def exchanges(home: Path, working_directory: Path) -> list[Exchange]:
    """The conversation in *working_directory* that was written to last, oldest prompt first."""
    path = newest(home, working_directory)
    return [] if path is None else told(transcripts.read(path, max_bytes=_TAIL_BYTES))


def newest(home: Path, working_directory: Path) -> Path | None:
    """Its file; None without one."""
    return _newest(home / "projects" / folder_name(str(working_directory.resolve())))


def folder_name(working_directory: str) -> str:
    """Where the program keeps the conversations of a folder; a long name is cut and gets a checksum."""
    units = working_directory.encode("utf-16-le", "surrogatepass")
    codes = [units[index] | units[index + 1] << 8 for index in range(0, len(units), 2)]
    name = "".join(chr(code) if chr(code).isascii() and chr(code).isalnum() else "-" for code in codes)
    if len(name) <= _MAX_FOLDER_NAME:
        return name
    return f"{name[:_MAX_FOLDER_NAME]}-{_checksum(codes)}"


def told(records: Iterable[Record]) -> list[Exchange]:
    """What *records* say about prompts and their turns.

    They are told by their time: the first answer of a conversation may be written before its prompt.
    """
    story = _Story()
    for record in sorted(records, key=lambda record: str(record.fields.get("timestamp"))):
        story.add(record)
    return story.exchanges


class _Story:
    """The exchanges so far, and what is being answered."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self._said: list[str] = []
        self._message_id: str | None = None
        self._tokens = Tally()

    def add(self, record: Record) -> None:
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
            case "system" if fields.get("subtype") in _TURN_ENDS:
                self._close("success")

    def _add_user(self, record: Record) -> None:
        text = _text(record.fields)
        if text.startswith(_INTERRUPTED):
            self._close("interrupted")
        elif text and not record.fields.get("isCompactSummary") and not _NOT_SAID.match(text):
            # What is still open was killed, or taken back before anything was answered.
            self._close("interrupted")
            self._open(text, record)

    def _add_attachment(self, record: Record) -> None:
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
            self._said, self._message_id = [], message.get("id")
        if text:
            self._said.append(text)
        self._tokens.note(message.get("id"), message.get("usage"), _NAMES)
        if record.get("isApiErrorMessage") is True:
            self._close("error")
        elif text and message.get("model") != _SYNTHETIC and message.get("stop_reason") not in _GOES_ON:
            self._close("success")

    def _open(self, prompt: str, record: Record) -> None:
        self._said = []
        asked_at = str(record.fields.get("timestamp"))
        self.exchanges.append(Exchange(prompt=prompt, submitted_at_utc=asked_at, place=record.place))

    def _close(self, outcome: _Outcome) -> None:
        """End every open exchange: a prompt that joined a turn ends with it."""
        said = "\n\n".join(self._said)
        answer = said if said or outcome == "success" else None
        self.exchanges = transcripts.close(
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
    """JavaScript's customary string hash, in base 36."""
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
    """The conversation that was written to last; an agent's own helpers leave files too."""
    found = [path for path in folder.glob("*.jsonl") if not path.name.startswith("agent-")]
    return max(found, key=_modified_at, default=None)


def _modified_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0

"""Parses Gemini CLI's transcripts: one JSONL file per conversation, by project, in its home.

A line is a message, or `$set`, which replaces the whole: after an interrupt or an error the CLI sets its
messages without the last prompt. The parser ignores `$set`, so that a submitted prompt stays.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from posthouse.support import clock, untrusted_files
from posthouse.support.untrusted_files import UnsafeFile
from posthouse.tools import transcripts
from posthouse.tools.tool import Exchange
from posthouse.tools.transcripts import TokenCounter, TranscriptRecord

_TAIL_BYTES = 4 * 1024 * 1024
#: Quotation marks inside a prompt or an answer are escaped, so they do not match.
_TIMES = re.compile(rb'"(?:startTime|timestamp)": ?"([^"\\]{1,40})"')
#: File timestamps use a coarser clock than programs.
_CLOCK_SECONDS = 1.0
#: The CLI's first message of every conversation, written as the user.
_CONTEXT = "<session_context>"
_CANCELLED = "Request cancelled."
#: Token counts, mapped to the names in its headless stream.
_TOKEN_NAMES = {
    "input": "input_tokens",
    "cached": "cached_input_tokens",
    "output": "output_tokens",
    "thoughts": "thoughts_token_count",
    "total": "total_tokens",
}


def exchanges(home: Path, working_directory: Path) -> Sequence[Exchange]:
    """The newest conversation in *working_directory*, oldest prompt first; empty if there is none."""
    path = newest(home, working_directory)
    return () if path is None else _parse(transcripts.read(path, max_bytes=_TAIL_BYTES))


def newest(home: Path, working_directory: Path) -> Path | None:
    """The file of the newest conversation; None if there is none."""
    folder = home / ".gemini"
    try:
        projects = untrusted_files.read_json(folder / "projects.json")["projects"]
        slug = projects[str(working_directory.resolve())]
        chats = list((folder / "tmp" / slug / "chats").glob("session-*.jsonl"))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # no conversation yet, or an unknown file format
    return _latest_conversation(sorted(((_modified_at(chat), chat) for chat in chats), reverse=True))


def _latest_conversation(chats: Sequence[tuple[float, Path]]) -> Path | None:
    """The conversation with the newest message. *chats*: modification times and files, newest first.

    The CLI writes a summary into an older conversation at its start, so file times alone mislead.
    """
    newest, newest_at = None, 0.0
    for modified_at, chat in chats:
        if modified_at + _CLOCK_SECONDS < newest_at:
            break
        if (message_at := _last_message_at(chat)) > newest_at:
            newest, newest_at = chat, message_at
    return newest


def _last_message_at(path: Path) -> float:
    """The time of the last message of the conversation; 0 if unknown."""
    try:
        return clock.parse(max(_TIMES.findall(_tail(path)), default=b"").decode()).timestamp()
    except ValueError:
        return 0.0


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # the CLI removes empty conversations
        return 0.0


def _tail(path: Path) -> bytes:
    """The end of the file, from the start of a line."""
    try:
        start, tail = untrusted_files.read_tail(path, max_bytes=_TAIL_BYTES)
    except (FileNotFoundError, UnsafeFile):
        return b""
    return tail.partition(b"\n")[2] if start else tail


def _parse(records: Iterable[TranscriptRecord]) -> list[Exchange]:
    found: list[Exchange] = []
    tokens = TokenCounter()
    is_over = True
    for record in records:
        fields = record.fields
        if prompt := _prompt(fields):
            if found and found[-1].outcome is None:  # a killed turn leaves no end record
                found[-1] = replace(found[-1], outcome="interrupted")
            found.append(Exchange(prompt=prompt, submitted_at_utc=_time(fields), position=record.position))
            tokens.clear()
            is_over = False
        elif found and not is_over:
            tokens.add(fields.get("id"), fields.get("tokens"), _TOKEN_NAMES)
            found[-1] = replace(_apply(found[-1], fields), usage=tokens.total())
            # Records after the end are corrections of the CLI's history.
            is_over = found[-1].outcome in ("interrupted", "error")
    return found


def _apply(exchange: Exchange, record: Mapping[str, Any]) -> Exchange:
    kind, text = record.get("type"), _text(record.get("content"))
    if kind == "error":
        return replace(exchange, answer=text, outcome="error")
    if kind == "info" and text == _CANCELLED:
        return replace(exchange, outcome="interrupted")
    if kind != "gemini":
        return exchange
    if record.get("toolCalls") or not text:  # a tool call: the turn continues
        return replace(exchange, answer=None, outcome=None)
    return replace(exchange, answer=text, outcome="success")


def _prompt(record: Mapping[str, Any]) -> str | None:
    """The prompt in *record*; None for tool results and the CLI's own messages."""
    if record.get("type") != "user":
        return None
    # The content includes the files that a prompt mentions; `displayContent` is the typed text.
    text = _text(record.get("displayContent") or record.get("content"))
    return None if not text or text.startswith(_CONTEXT) else text


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return "".join(part for part in parts if isinstance(part, str))


def _time(record: Mapping[str, Any]) -> str:
    try:
        return clock.iso_micros(clock.parse(str(record.get("timestamp"))))
    except ValueError:
        return clock.iso_micros(clock.now())

"""The agent's own conversations: one JSONL file each, by project, under the home.

A line is a message, or `$set`, which changes the whole: after an interrupt or an error the CLI sets its
messages anew without the last prompt. Read here is what happened, so a prompt that was taken stays.
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
from posthouse.tools.transcripts import Record, Tally

_TAIL_BYTES = 4 * 1024 * 1024
#: In a prompt's or an answer's own text the quotation marks are escaped.
_TIMES = re.compile(rb'"(?:startTime|timestamp)": ?"([^"\\]{1,40})"')
#: The kernel stamps files by a coarser clock than programs read.
_CLOCK_SECONDS = 1.0
#: What the CLI itself says at the beginning of every conversation, in the user's name.
_CONTEXT = "<session_context>"
_CANCELLED = "Request cancelled."
#: Its tokens, under the names that its headless turns have for them.
_NAMES = {
    "input": "input_tokens",
    "cached": "cached_input_tokens",
    "output": "output_tokens",
    "thoughts": "thoughts_token_count",
    "total": "total_tokens",
}


def exchanges(home: Path, working_directory: Path) -> Sequence[Exchange]:
    """The newest conversation held in *working_directory*, oldest first; empty without one."""
    path = newest(home, working_directory)
    return () if path is None else _told(transcripts.read(path, max_bytes=_TAIL_BYTES))


def newest(home: Path, working_directory: Path) -> Path | None:
    """Its file; None without one."""
    folder = home / ".gemini"
    try:
        projects = untrusted_files.read_json(folder / "projects.json")["projects"]
        slug = projects[str(working_directory.resolve())]
        chats = list((folder / "tmp" / slug / "chats").glob("session-*.jsonl"))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # no conversation yet, or not written by a CLI that we know
    return _last_held(sorted(((_modified_at(chat), chat) for chat in chats), reverse=True))


def _last_held(chats: Sequence[tuple[float, Path]]) -> Path | None:
    """The conversation with the newest word in it; *chats* come with the times of their files, newest first.

    At its start the CLI writes a summary into an older conversation: a file's time alone would mislead.
    """
    newest, held_at = None, 0.0
    for modified_at, chat in chats:
        if modified_at + _CLOCK_SECONDS < held_at:
            break
        if (said_at := _said_at(chat)) > held_at:
            newest, held_at = chat, said_at
    return newest


def _said_at(path: Path) -> float:
    """When something was last said in the conversation; 0 when nothing tells."""
    try:
        return clock.parse(max(_TIMES.findall(_tail(path)), default=b"").decode()).timestamp()
    except ValueError:
        return 0.0


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # the CLI removes conversations that came to nothing
        return 0.0


def _tail(path: Path) -> bytes:
    """The newest part of the file, from the beginning of a line."""
    try:
        start, tail = untrusted_files.read_tail(path, max_bytes=_TAIL_BYTES)
    except (FileNotFoundError, UnsafeFile):
        return b""
    return tail.partition(b"\n")[2] if start else tail


def _told(records: Iterable[Record]) -> list[Exchange]:
    found: list[Exchange] = []
    tokens = Tally()
    is_over = True
    for record in records:
        fields = record.fields
        if prompt := _prompt(fields):
            if found and found[-1].outcome is None:  # a killed turn leaves no word of its end
                found[-1] = replace(found[-1], outcome="interrupted")
            found.append(Exchange(prompt=prompt, submitted_at_utc=_time(fields), place=record.place))
            tokens.clear()
            is_over = False
        elif found and not is_over:
            tokens.note(fields.get("id"), fields.get("tokens"), _NAMES)
            found[-1] = replace(_after(found[-1], fields), usage=tokens.total())
            # What is said behind an end is the CLI setting its history right.
            is_over = found[-1].outcome in ("interrupted", "error")
    return found


def _after(exchange: Exchange, record: Mapping[str, Any]) -> Exchange:
    kind, text = record.get("type"), _text(record.get("content"))
    if kind == "error":
        return replace(exchange, answer=text, outcome="error")
    if kind == "info" and text == _CANCELLED:
        return replace(exchange, outcome="interrupted")
    if kind != "gemini":
        return exchange
    if record.get("toolCalls") or not text:  # it asks for a tool, and goes on afterwards
        return replace(exchange, answer=None, outcome=None)
    return replace(exchange, answer=text, outcome="success")


def _prompt(record: Mapping[str, Any]) -> str | None:
    """The prompt that a record is about; None for the results of tools and the CLI's own words."""
    if record.get("type") != "user":
        return None
    # Files that a prompt names are read into the content; what was typed stands beside it.
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

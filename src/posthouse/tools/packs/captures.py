"""Screens that were recorded, with the words that a person read in them: what proves a pack.

A capture is `NAME.ansi` (what `tmux capture-pane -p -e` printed) and `NAME.meta` (what tmux knew beside it: a
line of names, a line of values). `expected.json` beside them holds each capture's words.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import posthouse.tools
from posthouse.errors import InvalidInput
from posthouse.support.files import write_whole
from posthouse.terminal.screen import Screen, Surface, rows_of

EXPECTED = "expected.json"
_HEAD = (
    "cursor_x,cursor_y,cursor_flag,alternate_on,pane_title,"
    "pane_current_command,pane_dead,history_size,pane_pid"
)
_TITLE = "pane_title"

#: What is read in a capture: `state`, and where there is something to say `outcome`, `error`, `dialog`,
#: `choices`, `draft`, `resets`, `chat`.
Words = Mapping[str, Any]


class BadCapture(InvalidInput):
    """A capture can't be read; the message says which and why."""

    code = "bad_capture"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What tmux knew beside a recorded screen."""

    title: str
    cursor: tuple[int, int]
    is_dead: bool = False
    columns: int = 0
    rows: int = 0
    #: Of the CLI; "" when nobody knew.
    version: str = ""


def tools() -> list[str]:
    """The tools that have captures."""
    return sorted(folder.parent.name for folder in _package().glob("*/captures"))


def folder_of(tool: str) -> Path:
    """Where the captures of *tool* lie in the package."""
    return _package() / tool / "captures"


def names(folder: Path) -> list[str]:
    """The captures in *folder*."""
    return sorted(path.stem for path in folder.glob("*.ansi"))


def expected(folder: Path) -> dict[str, Words]:
    """What a person read in each capture of *folder*; empty when nobody did.

    Raises:
        BadCapture: The file is no such thing.
    """
    path = folder / EXPECTED
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise BadCapture(f"{path}: {error}") from error
    if not isinstance(read, dict):
        raise BadCapture(f"{path}: not an object of captures")
    return read


def screen(folder: Path, name: str) -> Screen:
    """The capture *name* of *folder*.

    Raises:
        BadCapture: It is not there, or not as one is written.
    """
    try:
        capture = (folder / f"{name}.ansi").read_text(encoding="utf-8", errors="replace")
        beside = _beside((folder / f"{name}.meta").read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, KeyError) as error:
        raise BadCapture(f"capture {name!r} in {folder}: {error}") from error
    return screen_of(capture, title=beside.title, cursor=beside.cursor, is_dead=beside.is_dead)


def screen_of(capture: str, *, title: str, cursor: tuple[int, int] | None, is_dead: bool) -> Screen:
    """A screen from what `tmux capture-pane -p -e` printed."""
    rows = rows_of(capture.replace("\r\n", "\n").removesuffix("\n"))
    return Screen(rows=rows, title=title, cursor=cursor, dead=is_dead)


def words_of(surface: Surface) -> Words:
    """What *surface* says, in the words of `expected.json`: only what there is to say."""
    said: dict[str, Any] = {
        "state": surface.state,
        "outcome": surface.outcome if surface.outcome != "none" else None,
        "error": surface.error_kind,
        "dialog": surface.dialog,
        "draft": surface.composer or None,
        "choices": [choice.label for choice in surface.choices] or None,
        "resets": surface.resets,
        "chat": surface.chat_diagnostic.error_type if surface.chat_diagnostic else None,
    }
    return {key: value for key, value in said.items() if value is not None}


def add(folder: Path, name: str, capture: str, beside: Beside, words: Words) -> None:
    """Put a capture into *folder*, its words last: until then, a check says that they are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{name}.ansi", capture.encode(), durable=False)
    write_whole(folder / f"{name}.meta", _meta(beside).encode(), durable=False)
    told = {**expected(folder), name: dict(words)}
    text = json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True)
    write_whole(folder / EXPECTED, f"{text}\n".encode(), durable=False)


def _meta(beside: Beside) -> str:
    told = asdict(beside)
    x, y = beside.cursor
    values = (x, y, 0, 0, beside.title.replace("\n", " "), "", int(beside.is_dead), 0, 0)
    more = ("columns", "rows", "version")
    head = ",".join((_HEAD, *more))
    return f"{head}\n{','.join(map(str, (*values, *(told[key] for key in more))))}\n"


def _beside(text: str) -> Beside:
    """A title may hold commas: the other values are counted from both ends."""
    lines = text.splitlines()
    if len(lines) < 2:
        raise ValueError("its .meta has no line of values")
    head, values = lines[0].split(","), lines[1].split(",")
    before, after = head.index(_TITLE), len(head) - head.index(_TITLE) - 1
    if len(values) < len(head):
        raise ValueError("its .meta has fewer values than names")
    end = len(values) - after
    known = dict(zip(head[:before], values, strict=False)) | dict(
        zip(head[before + 1 :], values[end:], strict=True)
    )
    return Beside(
        title=",".join(values[before:end]),
        cursor=(int(known["cursor_x"]), int(known["cursor_y"])),
        is_dead=known["pane_dead"] == "1",
        version=known.get("version", ""),
    )


def _package() -> Path:
    return Path(posthouse.tools.__file__).parent

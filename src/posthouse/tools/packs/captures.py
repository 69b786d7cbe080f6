"""Recorded screens with the states that a person assigned: the test data of a pack.

A capture is `NAME.ansi` (the output of `tmux capture-pane -p -e`) and `NAME.meta` (tmux metadata: a line of
names, a line of values). `expected.json` has the expected state of each capture.
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

#: The expected reading of a capture: `state`, and if applicable `outcome`, `error`, `dialog`, `choices`,
#: `draft`, `resets`, `chat`.
ExpectedState = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureMetadata:
    """The tmux metadata of a recorded screen."""

    title: str
    cursor: tuple[int, int]
    is_dead: bool = False
    columns: int = 0
    rows: int = 0
    #: The CLI's version; "" if unknown.
    version: str = ""


def tools() -> list[str]:
    """The tools that have captures."""
    return sorted(folder.parent.name for folder in _package().glob("*/captures"))


def folder_of(tool: str) -> Path:
    """The package folder with the captures of *tool*."""
    return _package() / tool / "captures"


def names(folder: Path) -> list[str]:
    """The captures in *folder*."""
    return sorted(path.stem for path in folder.glob("*.ansi"))


def expected(folder: Path) -> dict[str, ExpectedState]:
    """The expected state of each capture in *folder*; empty if there is no `expected.json`.

    Raises:
        InvalidInput: The file is invalid.
    """
    path = folder / EXPECTED
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise _bad_capture(f"{path}: {error}") from error
    if not isinstance(read, dict):
        raise _bad_capture(f"{path}: not an object of captures")
    return read


def screen(folder: Path, name: str) -> Screen:
    """The capture *name* of *folder*.

    Raises:
        InvalidInput: It is missing or malformed.
    """
    try:
        capture = (folder / f"{name}.ansi").read_text(encoding="utf-8", errors="replace")
        metadata = _parse_meta((folder / f"{name}.meta").read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, KeyError) as error:
        raise _bad_capture(f"capture {name!r} in {folder}: {error}") from error
    return parse_screen(capture, title=metadata.title, cursor=metadata.cursor, is_dead=metadata.is_dead)


def parse_screen(capture: str, *, title: str, cursor: tuple[int, int] | None, is_dead: bool) -> Screen:
    """A screen from the output of `tmux capture-pane -p -e`."""
    rows = rows_of(capture.replace("\r\n", "\n").removesuffix("\n"))
    return Screen(rows=rows, title=title, cursor=cursor, dead=is_dead)


def expected_state(surface: Surface) -> ExpectedState:
    """*surface* in the format of `expected.json`, without empty values."""
    values: dict[str, Any] = {
        "state": surface.state,
        "outcome": surface.outcome if surface.outcome != "none" else None,
        "error": surface.error_kind,
        "dialog": surface.dialog,
        "draft": surface.composer or None,
        "choices": [choice.label for choice in surface.choices] or None,
        "resets": surface.resets,
        "chat": surface.chat_diagnostic.error_type if surface.chat_diagnostic else None,
    }
    return {key: value for key, value in values.items() if value is not None}


def add(folder: Path, name: str, capture: str, metadata: CaptureMetadata, state: ExpectedState) -> None:
    """Add a capture to *folder*. `expected.json` is written last, so a check reports a partial capture."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{name}.ansi", capture.encode(), durable=False)
    write_whole(folder / f"{name}.meta", _meta(metadata).encode(), durable=False)
    states = {**expected(folder), name: dict(state)}
    text = json.dumps(states, indent=1, ensure_ascii=False, sort_keys=True)
    write_whole(folder / EXPECTED, f"{text}\n".encode(), durable=False)


def _meta(metadata: CaptureMetadata) -> str:
    fields = asdict(metadata)
    x, y = metadata.cursor
    values = (x, y, 0, 0, metadata.title.replace("\n", " "), "", int(metadata.is_dead), 0, 0)
    more = ("columns", "rows", "version")
    head = ",".join((_HEAD, *more))
    return f"{head}\n{','.join(map(str, (*values, *(fields[key] for key in more))))}\n"


def _parse_meta(text: str) -> CaptureMetadata:
    """A title may contain commas, so the other values are counted from both ends."""
    lines = text.splitlines()
    if len(lines) < 2:
        raise ValueError("the .meta file has no line of values")
    head, values = lines[0].split(","), lines[1].split(",")
    before, after = head.index(_TITLE), len(head) - head.index(_TITLE) - 1
    if len(values) < len(head):
        raise ValueError("the .meta file has fewer values than names")
    end = len(values) - after
    known = dict(zip(head[:before], values, strict=False)) | dict(
        zip(head[before + 1 :], values[end:], strict=True)
    )
    return CaptureMetadata(
        title=",".join(values[before:end]),
        cursor=(int(known["cursor_x"]), int(known["cursor_y"])),
        is_dead=known["pane_dead"] == "1",
        version=known.get("version", ""),
    )


def _package() -> Path:
    return Path(posthouse.tools.__file__).parent


def _bad_capture(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_capture")

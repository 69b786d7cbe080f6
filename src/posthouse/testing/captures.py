"""Screens of the real CLIs, as they were captured from their panes, beside the tool that reads them."""

import json
from pathlib import Path
from typing import Any

import posthouse.tools
from posthouse.terminal.screen import Screen, rows_of

_TOOLS = Path(posthouse.tools.__file__).parent


def tools() -> list[str]:
    """The tools that have captures."""
    return sorted(folder.parent.name for folder in _TOOLS.glob("*/captures"))


def names(tool: str) -> list[str]:
    """The captures of *tool*."""
    return sorted(path.stem for path in _folder(tool).glob("*.ansi"))


def expected(tool: str) -> dict[str, dict[str, Any]]:
    """What a person reads in each capture of *tool*."""
    read: dict[str, dict[str, Any]] = json.loads((_folder(tool) / "expected.json").read_text())
    return read


def screen(tool: str, name: str) -> Screen:
    """The capture *name* of *tool*."""
    values = (_folder(tool) / f"{name}.meta").read_text().splitlines()[1].split(",")
    return Screen(
        rows=rows_of((_folder(tool) / f"{name}.ansi").read_text().removesuffix("\n")),
        title=",".join(values[4:-4]),
        cursor=(int(values[0]), int(values[1])),
        dead=values[-3] == "1",
    )


def _folder(tool: str) -> Path:
    return _TOOLS / tool / "captures"

"""What is typed, key by key."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from posthouse.terminal import keys
from posthouse.terminal.control import ControlClient
from posthouse.terminal.delivery import InputProfile, PaneWriter


class Recorded:
    """A client whose pane takes every key, and a clock: both note what was asked of them, in order."""

    def __init__(self) -> None:
        self.done: list[object] = []

    async def command(self, *words: str) -> str:
        self.done.append((words[0], Path(words[-1]).read_text()))
        return ""

    async def command_if(self, _pane_id: str, _condition: str, words: Sequence[str]) -> bool:
        self.done.append(words[0] if words[0] == "paste-buffer" else words[-1])
        return True

    async def sleep(self, _seconds: float) -> None:
        self.done.append("a moment")


class _NoHands:
    """A CLI of which nothing need be known."""

    read_surface = None


def test_an_escape_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows at once would be taken for the rest of it, by whoever types next as well."""
    client = Recorded()
    monkeypatch.setattr(asyncio, "sleep", client.sleep)
    writer = PaneWriter(
        cast(ControlClient, client), "%1", cast(InputProfile, _NoHands()), lock_path=tmp_path / "pane.lock"
    )

    asyncio.run(writer.press(keys.parse("<[Escape]>x<[Enter]><[Escape]>")))

    pasted = [("load-buffer", "x"), "paste-buffer"]
    assert client.done == ["Escape", "a moment", *pasted, "Enter", "Escape", "a moment"]

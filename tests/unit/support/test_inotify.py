import asyncio
from pathlib import Path

import pytest

from posthouse.support.inotify import FolderWatch


def test_a_file_moved_or_written_is_told_at_once(tmp_path: Path) -> None:
    """Both ways of making a file wake the watcher; after closing nothing does."""
    folder = tmp_path / "watched"
    folder.mkdir()

    async def scenario() -> list[str]:
        changes: asyncio.Queue[str] = asyncio.Queue()
        watch = FolderWatch(folder, lambda: changes.put_nowait("changed"))
        (tmp_path / "made").write_text("{}")
        (tmp_path / "made").rename(folder / "moved")
        told = [await asyncio.wait_for(changes.get(), 5)]
        (folder / "moved").write_text("more")
        told.append(await asyncio.wait_for(changes.get(), 5))
        watch.close()
        watch.close()
        return told

    assert asyncio.run(scenario()) == ["changed", "changed"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """The caller learns at once that nothing is watched."""

    async def scenario() -> None:
        FolderWatch(tmp_path / "gone", lambda: None)

    with pytest.raises(FileNotFoundError):
        asyncio.run(scenario())

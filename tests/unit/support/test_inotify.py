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


def test_many_watches_share_one_of_the_kernels_queues(tmp_path: Path) -> None:
    """A user has 128 queues; the last watch that closes gives it back."""

    def queues() -> int:
        return sum(_target(link) == "anon_inode:inotify" for link in Path("/proc/self/fd").iterdir())

    async def scenario() -> tuple[int, int]:
        folders = [tmp_path / str(number) for number in range(200)]
        for folder in folders:
            folder.mkdir()
        watches = [FolderWatch(folder, lambda: None) for folder in folders]
        open_queues = queues()
        for watch in watches:
            watch.close()
        return open_queues, queues()

    before = queues()
    assert asyncio.run(scenario()) == (before + 1, before)


def test_each_listener_of_a_folder_is_told_until_it_closes(tmp_path: Path) -> None:
    """Whoever else listens there, and whether they care for what is made and removed."""

    async def scenario() -> list[list[str]]:
        told: asyncio.Queue[str] = asyncio.Queue()
        both = FolderWatch(tmp_path, lambda: told.put_nowait("entries"), entries=True)
        only = FolderWatch(tmp_path, lambda: told.put_nowait("content"))
        other = FolderWatch(tmp_path.parent, lambda: told.put_nowait("parent"))
        (tmp_path / "made").mkdir()
        heard = [sorted([await asyncio.wait_for(told.get(), 5) for _ in range(2)])]
        only.close()
        (tmp_path / "made").rmdir()
        heard.append([await asyncio.wait_for(told.get(), 5)])
        both.close()
        other.close()
        return heard

    assert asyncio.run(scenario()) == [["content", "entries"], ["entries"]]


def test_a_watched_folder_may_go(tmp_path: Path) -> None:
    """It is told once, its watch closes like any other, and the others go on."""

    async def scenario() -> list[str]:
        told: asyncio.Queue[str] = asyncio.Queue()
        folder = tmp_path / "short-lived"
        folder.mkdir()
        gone = FolderWatch(folder, lambda: None, on_end=lambda: told.put_nowait("gone"))
        kept = FolderWatch(tmp_path, lambda: told.put_nowait("kept"), entries=True)
        folder.rmdir()
        heard = sorted([await asyncio.wait_for(told.get(), 5) for _ in range(2)])
        gone.close()
        kept.close()
        return heard

    assert asyncio.run(scenario()) == ["gone", "kept"]


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""

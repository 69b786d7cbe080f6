"""Whether a folder takes files now."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from posthouse.support.disk_check import DiskCheck


def test_a_folder_that_takes_files_is_no_problem_and_stays_empty(tmp_path: Path) -> None:
    """The check leaves nothing behind."""
    assert asyncio.run(DiskCheck(tmp_path).problem()) is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_comes_back_is_no_problem_any_more(tmp_path: Path) -> None:
    """Each check looks anew."""
    folder = tmp_path / "gateway"

    async def story() -> list[str | None]:
        check = DiskCheck(folder)
        told = [await check.problem()]
        folder.mkdir()
        return [*told, await check.problem()]

    first, second = asyncio.run(story())
    assert first is not None
    assert first.startswith(f"no such file or folder: {folder}")
    assert second is None


@pytest.mark.needs_host("root")
def test_a_full_disk_is_a_problem_until_there_is_room(tmp_path: Path) -> None:
    """Also when a small file still fits, but no whole request."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], check=True)
    filler = folder / "filler"
    try:
        filler.write_bytes(b"x" * (256 - 16 << 10))
        full = asyncio.run(DiskCheck(folder).problem())
        left = [path.name for path in folder.iterdir()]
        filler.unlink()
        roomy = asyncio.run(DiskCheck(folder).problem())
    finally:
        subprocess.run(["umount", folder], check=True)

    assert full == f"no space left on device: {folder}; free some space, then try again"
    assert left == ["filler"]
    assert roomy is None


@pytest.mark.needs_host("ordinary user")
@pytest.mark.ordinary_user
def test_a_folder_without_the_right_to_write_is_a_problem(tmp_path: Path) -> None:
    """The reason is told."""
    tmp_path.chmod(0o500)
    try:
        told = asyncio.run(DiskCheck(tmp_path).problem())
    finally:
        tmp_path.chmod(0o700)

    assert told is not None
    assert told.startswith("permission denied: ")


def test_a_named_pipe_in_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    """Its other end is never opened."""
    os.mkfifo(tmp_path / ".write-check")

    assert asyncio.run(DiskCheck(tmp_path).problem()) is None
    assert list(tmp_path.iterdir()) == []

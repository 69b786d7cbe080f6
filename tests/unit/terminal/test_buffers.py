"""The file that brings a text to tmux."""

import asyncio
import os
from pathlib import Path
from typing import cast

import pytest

from posthouse.errors import InvalidInput, Unavailable
from posthouse.support import locks, processes
from posthouse.terminal import buffers
from posthouse.terminal.control import ControlClient


@pytest.fixture
def lock_path(tmp_path: Path) -> Path:
    return tmp_path / "pane.lock"


def _files(lock_path: Path) -> list[str]:
    return sorted(path.name for path in lock_path.parent.iterdir() if path != lock_path)


def test_the_text_is_the_owners_and_gone_afterwards(lock_path: Path) -> None:
    """Nothing is left, whether the body ends well or not."""
    with buffers.paste_file("pröfe\n", lock_path=lock_path) as path:
        found = (path.read_text(), path.stat().st_mode & 0o777, path.parent)
    with pytest.raises(KeyError), buffers.paste_file("x", lock_path=lock_path):
        raise KeyError

    assert found == ("pröfe\n", 0o600, lock_path.parent)
    assert _files(lock_path) == []


def test_what_a_killed_process_left_is_removed_by_the_next(lock_path: Path) -> None:
    """Files of other panes stay."""
    (lock_path.parent / ".pane.lock.0123456789abcdef.paste").write_text("left")
    (lock_path.parent / ".other.lock.0123456789abcdef.paste").write_text("not ours")

    with buffers.paste_file("x", lock_path=lock_path) as path:
        during = _files(lock_path)

    assert during == sorted([".other.lock.0123456789abcdef.paste", path.name])


def test_a_text_that_a_pane_cannot_get_is_the_callers_mistake(lock_path: Path) -> None:
    """A NUL would end the text for some programs."""
    with pytest.raises(InvalidInput, match="NUL"), buffers.paste_file("a\0b", lock_path=lock_path):
        pytest.fail("it was written")

    assert _files(lock_path) == []


def test_a_folder_that_is_gone_is_a_clear_error(tmp_path: Path) -> None:
    """The message says that nothing was typed, and why."""
    with (
        pytest.raises(Unavailable, match="so nothing was typed: No such file or directory"),
        buffers.paste_file("x", lock_path=tmp_path / "gone" / "pane.lock"),
    ):
        pytest.fail("it was written")


class _Buffers:
    """A client of a server with buffers."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)

    async def command(self, *words: str) -> str:
        if words[0] == "delete-buffer":
            self.names.remove(words[-1])
        return "\n".join(self.names)


def _swept(lock_path: Path, *names: str) -> list[str]:
    client = _Buffers(*names)
    asyncio.run(buffers.sweep(cast(ControlClient, client), lock_path=lock_path))
    return client.names


def test_buffers_of_dead_processes_are_removed(lock_path: Path) -> None:
    """Those of living ones and of others stay."""
    process = processes.identify(os.getpid())
    assert process is not None
    # The pid may be another's by now; pid and start time together are not.
    dead = f"posthouse-{process.pid}-{process.start_ticks + 1}-{'0' * 16}"
    kept = [buffers.new_name(), "buffer0", "posthouse-notes", f"x{dead}"]

    assert _swept(lock_path, dead, *kept) == kept


def test_a_sweep_leaves_the_file_of_one_who_types(lock_path: Path) -> None:
    """Only with the pane's lock is a file known to be left."""
    left = lock_path.parent / ".pane.lock.0123456789abcdef.paste"
    left.write_text("a prompt")

    with locks.hold(lock_path):
        _swept(lock_path)
        during = left.exists()
    _swept(lock_path)

    assert (during, left.exists()) == (True, False)

"""Who still uses a folder."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from posthouse.testing import leftovers


@pytest.mark.parametrize("tie", ["variable", "working directory"])
def test_what_was_started_for_a_folder_is_found(tmp_path: Path, tie: str) -> None:
    """A process is found by its variables or by where it works, and no longer once it has ended."""
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    other.mkdir()
    variables = {"SOME_HOME": str(mine / "agent")} if tie == "variable" else {}
    process = subprocess.Popen(
        ["sleep", "600"], env={"PATH": os.environ["PATH"], **variables}, cwd=other if variables else mine
    )
    try:
        found = [leftover.pid for leftover in leftovers.users_of(mine)]
    finally:
        process.kill()
        process.wait()

    assert found == [process.pid]
    assert leftovers.users_of(mine) == []


@pytest.fixture
def sleeping() -> Iterator[Callable[[Path], subprocess.Popen[bytes]]]:
    """Starts a process with a folder as its TMPDIR."""
    started: list[subprocess.Popen[bytes]] = []

    def start(folder: Path) -> subprocess.Popen[bytes]:
        variables = {"PATH": os.environ["PATH"], "TMPDIR": str(folder), "PYTEST_CURRENT_TEST": "test_of_it"}
        started.append(subprocess.Popen(["sleep", "600"], env=variables, cwd="/"))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_processes_and_files_of_a_run_are_named_and_ended(
    tmp_path: Path, sleeping: Callable[[Path], subprocess.Popen[bytes]]
) -> None:
    """Those of another run, what pytest keeps, and the processes that started this one are left alone."""
    mine, other = tmp_path / "mine", tmp_path / "other"
    for path in (mine / "pytest-of-me", mine / "ph-lost", other / "ph-theirs"):
        path.mkdir(parents=True)
    left, foreign = sleeping(mine), sleeping(other)

    lines = leftovers.end_all([mine], grace_seconds=0.1)

    assert lines == [f"process {left.pid}: sleep 600 (started in test_of_it)", f"file {mine / 'ph-lost'}"]
    assert (left.wait(), foreign.poll()) == (-signal.SIGKILL, None)


def test_a_bench_that_leaves_something_behind_fails(
    capsys: pytest.CaptureFixture[str], sleeping: Callable[[Path], subprocess.Popen[bytes]]
) -> None:
    """It runs with temporary folders of its own, which are gone afterwards."""
    folders: list[Path] = []

    def leave(code: int) -> int:
        folders.extend([Path(tempfile.gettempdir()), leftovers.homes()])
        return code

    def leave_a_process() -> int:
        sleeping(Path(tempfile.gettempdir()))
        return leave(0)

    outside = tempfile.gettempdir()
    codes = [leftovers.watched(lambda: leave(0)), leftovers.watched(lambda: leave(3))]
    was_quiet = capsys.readouterr().err == ""
    codes.append(leftovers.watched(leave_a_process))

    assert (codes, was_quiet, capsys.readouterr().err.count("left behind: process")) == ([0, 3, 1], True, 1)
    assert [folder.exists() for folder in folders] == [False] * 6
    assert tempfile.gettempdir() == outside

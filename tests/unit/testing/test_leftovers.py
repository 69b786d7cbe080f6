"""Who still uses a folder."""

import os
import subprocess
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

"""A server killed while it takes a turn: the next one finds the right outcome."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec

_WALK = Path(__file__).parent / "crash_walk.py"


def walked(agents: Agents, folder: Path, way: str) -> list[dict[str, Any]]:
    """What was found after a kill at each step."""
    made = agents.launch(LaunchSpec(tool="scripted", headless=True, name="gpu", working_directory=folder))
    done = subprocess.run(
        [sys.executable, str(_WALK), str(folder), str(made.manifest_path), way],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    for step in steps:
        expected = 1 if step["status"] == "completed" else 0
        assert (step["received"], step["marks"]) == (expected, []), step
    return steps


def test_a_server_killed_anywhere_leaves_the_truth(agents: Agents, tmp_path: Path) -> None:
    """A turn ran once and says so, or never and says that; the next one starts."""
    steps = walked(agents, tmp_path, "submit")

    # Killed before its record, before its program, and after.
    assert {step["status"] for step in steps if step["was_killed"]} == {None, "failed", "completed"}
    indexes = [step["index"] for step in steps if step["index"] is not None]
    assert indexes == sorted(set(indexes))


def test_a_turn_that_a_gateway_accepted_begins_once_or_never(agents: Agents, tmp_path: Path) -> None:
    """What nobody was told of is called off, and its gateway finds that out; the rest begins."""
    steps = walked(agents, tmp_path, "admit")

    assert {step["was_killed"] for step in steps} == {True}
    # Killed before the gateway was asked, before its answer was on disk, and after.
    assert {step["status"] for step in steps} == {None, "failed", "completed"}

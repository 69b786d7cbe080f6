"""A server killed while it takes a turn: the next one finds the right outcome."""

import json
import subprocess
import sys
from pathlib import Path

from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec

_WALK = Path(__file__).parent / "crash_walk.py"


def test_a_server_killed_anywhere_leaves_the_truth(agents: Agents, tmp_path: Path) -> None:
    """A turn ran once and says so, or never and says that; the next one starts."""
    made = agents.launch(LaunchSpec(tool="scripted", headless=True, name="gpu", working_directory=tmp_path))
    done = subprocess.run(
        [sys.executable, str(_WALK), str(tmp_path), str(made.manifest_path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    steps = [json.loads(line) for line in done.stdout.splitlines()]

    for step in steps:
        expected = 1 if step["status"] == "completed" else 0
        assert (step["received"], step["is_marked"]) == (expected, False), step
    # Killed before its record, before its order, before its program, and after.
    assert {step["status"] for step in steps if step["was_killed"]} == {None, "failed", "completed"}
    indexes = [step["index"] for step in steps if step["index"] is not None]
    assert indexes == sorted(set(indexes))

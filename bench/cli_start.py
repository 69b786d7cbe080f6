"""How long the command line takes to start, against the bare interpreter of the same environment.

    python bench/cli_start.py [ROUNDS]

Runs are interleaved, so that a noisy machine disturbs all of them alike; bytecode is cached, as it is from
the second start on. Ends with 1 when a ratio of medians is over its goal.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from posthouse.testing import leftovers

_ROUNDS = 40
_PROGRAM = str(Path(sys.executable).with_name("posthouse"))
_BASE = "python -c pass"
_COMMANDS: dict[str, list[str]] = {
    _BASE: [sys.executable, "-c", "pass"],
    "--version": [_PROGRAM, "--version"],
    "agents list": [_PROGRAM, "agents", "list"],
}
#: Times the bare interpreter.
_GOALS = {"--version": 5.0, "agents list": 8.0}


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else _ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        medians = _medians(rounds, _environment(folder))
    over = False
    for name, goal in _GOALS.items():
        ratio = medians[name] / medians[_BASE]
        over |= ratio > goal
        print(
            f"{name:<14} {medians[name] * 1000:6.1f} ms  {ratio:4.1f} times the interpreter (goal {goal:g})"
        )
    print(f"{_BASE:<14} {medians[_BASE] * 1000:6.1f} ms")
    return 1 if over else 0


def _environment(folder: str) -> dict[str, str]:
    """An empty home, and a bytecode cache that was filled by one start of each command."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"HOME": folder, "XDG_CONFIG_HOME": folder, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
    for command in _COMMANDS.values():
        _seconds(command, environment)
    return environment


def _medians(rounds: int, environment: dict[str, str]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in _COMMANDS}
    for _ in range(rounds):
        for name, command in _COMMANDS.items():
            taken[name].append(_seconds(command, environment))
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(leftovers.watched(main))

"""The bench of the server: its short form runs, tells every number, and accounts for every turn."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[3] / "bench" / "server.py"


def test_turns_are_accounted_for_although_the_server_is_killed() -> None:
    """What depends on the machine's speed is not looked at here."""
    done = subprocess.run(
        [sys.executable, str(BENCH), "--quick"], capture_output=True, text=True, timeout=600, check=False
    )

    assert (done.returncode in (0, 1), done.stderr) == (True, "")
    told = {line[:44].strip(): line.split()[-1] for line in done.stdout.splitlines() if " goal " in line}
    assert [*told] == [
        "a list of 20",
        "idle with 20 records, a minute",
        "turns that are not accounted for",
        "turns that were not taken",
    ]
    assert told["turns that are not accounted for"] == told["turns that were not taken"] == "ok"

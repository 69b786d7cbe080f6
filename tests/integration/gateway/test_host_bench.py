"""The bench of the host: its short form runs and tells every number that is promised."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[3] / "bench" / "host.py"


def test_the_bench_measures_everything_that_is_promised() -> None:
    """Its verdicts depend on the machine and are not looked at here."""
    done = subprocess.run(
        [sys.executable, str(BENCH), "--quick"], capture_output=True, text=True, timeout=180, check=False
    )

    assert (done.returncode in (0, 1), done.stderr) == (True, "")
    assert [line[:36].strip() for line in done.stdout.splitlines()[2:]] == [
        "resident memory, MiB",
        "memory that is its own (PSS), MiB",
        "CPU while idle, s a minute",
        "from kill -9 to all healthy, s",
    ]

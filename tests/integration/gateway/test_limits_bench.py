"""The bench itself: its short form runs and tells every number that is promised."""

import subprocess
import sys
from pathlib import Path

from posthouse.testing.waiting import LIMIT_SECONDS

BENCH = Path(__file__).parents[3] / "bench" / "gateway.py"


def test_the_bench_measures_everything_that_is_promised() -> None:
    """Its verdicts depend on the machine and are not looked at here."""
    done = subprocess.run(
        [sys.executable, str(BENCH), "--quick"],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )

    assert (done.returncode in (0, 1), done.stderr) == (True, "")
    told = [line[:42].strip() for line in done.stdout.splitlines()[2:]]
    assert told == [
        "accept on 8 connections, of raw commits",
        "accept on 1 connection, of raw commits",
        "CPU of /v1/status, of /health",
        "CPU from attach to /health, s",
        "CPU while idle, s a minute",
        "files written while idle or asked",
        "RSS, MiB",
    ]

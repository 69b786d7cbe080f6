import subprocess
import sys

_THREE_STEPS = """
import sys
from posthouse.support import crashpoints
crashpoints.arm(sys.argv[1] or None)
for step in ("one", "two", "three"):
    crashpoints.reach(step)
    print(step, flush=True)
"""


def _run(armed: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", _THREE_STEPS, armed], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_the_process_dies_at_the_armed_step() -> None:
    """Armed with N, the process is killed at its N-th step and names it."""
    assert _run("2") == (-9, "one\n", "crashpoint: two\n")


def test_unarmed_or_armed_beyond_the_end_it_survives() -> None:
    """A walk over all steps ends when the process survives."""
    assert _run("") == (0, "one\ntwo\nthree\n", "")
    assert _run("4") == (0, "one\ntwo\nthree\n", "")

import subprocess
import sys
from pathlib import Path

_THREE_STEPS = """
import sys
from pathlib import Path
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


def test_a_step_can_be_named() -> None:
    """Armed with a name and a number, only steps of that name count."""
    assert _run("three#1") == (-9, "one\ntwo\n", "crashpoint: three\n")
    assert _run("three#2") == (0, "one\ntwo\nthree\n", "")


def test_steps_can_be_written_down(tmp_path: Path) -> None:
    """Recording kills nobody, and adds to what other processes recorded."""
    assert _run(f">{tmp_path / 'steps'}") == (0, "one\ntwo\nthree\n", "")
    assert _run(f">{tmp_path / 'steps'}") == (0, "one\ntwo\nthree\n", "")

    assert (tmp_path / "steps").read_text().split() == ["one", "two", "three", "one", "two", "three"]

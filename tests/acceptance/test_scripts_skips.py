"""The rule for skips in tests/conftest.py, on a pytest run of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

TESTS = {
    "a test that skips by itself": """
        import pytest
        def test_it():
            pytest.skip("no tmux")
    """,
    "a module that skips by itself": """
        import pytest
        pytest.importorskip("no_such_module")
    """,
    "a test that this machine cannot run": f"""
        import pytest
        @pytest.mark.needs_host("{"ordinary user" if os.geteuid() == 0 else "root"}")
        def test_it(): ...
    """,
    "a test that this machine can run": f"""
        import pytest
        @pytest.mark.needs_host("{"root" if os.geteuid() == 0 else "ordinary user"}")
        def test_it(): ...
    """,
    "a failure that is expected": """
        import pytest
        @pytest.mark.xfail(reason="known")
        def test_it():
            assert False
    """,
}
REASON_HERE = "needs an ordinary user: root is refused nothing" if os.geteuid() == 0 else "needs root"


@pytest.mark.parametrize("parallel", [False, True], ids=["alone", "in workers"])
@pytest.mark.parametrize(
    ("tests", "tally"),
    [
        ("a test that skips by itself", ["passed\t0", "failed\t1"]),
        ("a module that skips by itself", ["passed\t0", "failed\t1"]),
        ("a test that this machine cannot run", ["passed\t0", "failed\t0", f"skipped\t1\t{REASON_HERE}"]),
        ("a test that this machine can run", ["passed\t1", "failed\t0"]),
        ("a failure that is expected", ["passed\t0", "failed\t0"]),
    ],
)
def test_only_what_the_machine_cannot_do_is_skipped(
    tmp_path: Path, tests: str, tally: list[str], parallel: bool
) -> None:
    """A skip that set-up could have prevented is a failure; any other is counted with its reason."""
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    (tmp_path / "test_it.py").write_text("\n".join(line[8:] for line in TESTS[tests].splitlines()))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  needs_host(ability): only where it can be\n")

    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(["-n", "1"] if parallel else [])],
        cwd=tmp_path,
        env=os.environ | {"POSTHOUSE_TALLY": str(tmp_path / "tally")},
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert (tmp_path / "tally").read_text().splitlines() == tally

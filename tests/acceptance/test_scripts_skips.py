"""The rules for skips and second tries in tests/conftest.py, on a pytest run of their own."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
#: A module that is refused must not keep the others from running.
OPTIONS = ("-rA", "--continue-on-collection-errors", "-p", "no:cacheprovider", "-p", "no:schemathesis")

HERE, ELSEWHERE = ("root", "ordinary user") if os.geteuid() == 0 else ("ordinary user", "root")
REASON_HERE = "needs an ordinary user: root is refused nothing" if os.geteuid() == 0 else "needs root"

#: A test with a vendor's CLI, as far as the rule can see, that knows how often it was tried.
TRIES = """
        from pathlib import Path
        import pytest
        @pytest.fixture
        def agent_clis(): ...
        def tries():
            noted = Path(__file__).with_suffix(".tries")
            with noted.open("a") as file:
                file.write(".")
            return len(noted.read_text())
""".strip()

MODULES = {
    "test_skips_by_itself.py": """
        import pytest
        def test_it():
            pytest.skip("no tmux")
    """,
    "test_whole_module_skips_by_itself.py": """
        import pytest
        pytest.importorskip("no_such_module")
    """,
    "test_cannot_run_here.py": f"""
        import pytest
        @pytest.mark.needs_host("{ELSEWHERE}")
        def test_it(): ...
    """,
    "test_can_run_here.py": f"""
        import pytest
        @pytest.mark.needs_host("{HERE}")
        def test_it(): ...
    """,
    "test_waits_in_vain_at_first.py": f"""
        {TRIES}
        class NeverHappened(AssertionError): ...
        def test_it(agent_clis):
            if tries() == 1:
                raise NeverHappened
    """,
    "test_is_wrong_at_first.py": f"""
        {TRIES}
        def test_it(agent_clis):
            assert tries() == 2
    """,
    "test_waits_in_vain_for_our_own.py": f"""
        {TRIES}
        class NeverHappened(AssertionError): ...
        def test_it():
            if tries() == 1:
                raise NeverHappened
    """,
    "test_is_expected_to_fail.py": """
        import pytest
        @pytest.mark.xfail(reason="known")
        def test_it():
            assert False
    """,
}


@pytest.mark.parametrize(
    "parallel",
    [pytest.param(False, marks=pytest.mark.ordinary_user, id="alone"), pytest.param(True, id="in workers")],
)
def test_only_what_the_machine_cannot_do_is_skipped_or_repeated(tmp_path: Path, parallel: bool) -> None:
    """A skip that set-up could have prevented fails; only waiting for a vendor's CLI is repeated."""
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    for name, source in MODULES.items():
        (tmp_path / name).write_text(textwrap.dedent(source))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  needs_host(ability): only where it can be\n")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, *(["-n", "1"] if parallel else [])],
        cwd=tmp_path,
        env=os.environ | {"POSTHOUSE_TALLY": str(tmp_path / "tally")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert sorted(re.findall(r"^(?:PASSED|FAILED|ERROR|XFAIL) \w+", done.stdout, re.MULTILINE)) == [
        "ERROR test_whole_module_skips_by_itself",
        "FAILED test_is_wrong_at_first",
        "FAILED test_skips_by_itself",
        "FAILED test_waits_in_vain_for_our_own",
        "PASSED test_can_run_here",
        "PASSED test_waits_in_vain_at_first",
        "XFAIL test_is_expected_to_fail",
    ]
    assert (tmp_path / "tally").read_text().splitlines() == [
        "passed\t2",
        "failed\t4",
        f"skipped\t1\t{REASON_HERE}",
        "repeated\t1\ttest_waits_in_vain_at_first.py::test_it",
    ]


VENDORS = f"""
        {TRIES}
        class NeverHappened(AssertionError): ...
        @pytest.mark.parametrize("number", range(COUNT))
        def test_it(agent_clis, number):
            noted = Path(__file__).with_name(f"tries-{{number}}")
            if not noted.exists():
                noted.touch()
                raise NeverHappened
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_there_are_three_second_tries_for_all_runs_together(tmp_path: Path, workers: int) -> None:
    """Two runs with one tally, as `./test` has them: the fourth test that waits in vain fails."""
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    (tmp_path / "test_first.py").write_text(textwrap.dedent(VENDORS.replace("COUNT", "2")))
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "test_second.py").write_text(textwrap.dedent(VENDORS.replace("COUNT", "3")))
    tally = tmp_path / "tally"

    codes = [_pytest(tmp_path, tally, workers, where) for where in ("test_first.py", "later/test_second.py")]

    lines = [line.split("\t") for line in tally.read_text().splitlines()]
    named = [line[2].partition("[")[0] for line in lines if line[0] == "repeated"]
    assert codes == [0, 1]
    assert [line for line in lines if line[0] != "repeated"] == [
        *(["passed", "2"], ["failed", "0"]),
        *(["passed", "1"], ["failed", "2"]),
    ]
    assert named == ["test_first.py::test_it"] * 2 + ["later/test_second.py::test_it"]


def test_a_test_with_a_vendors_cli_holds_a_slot_of_its_run(tmp_path: Path) -> None:
    """The workers of one run share the slots."""
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    (tmp_path / "test_slots.py").write_text(textwrap.dedent(SLOTS))

    assert _pytest(tmp_path, tmp_path / "tally", 2, "test_slots.py") == 0


SLOTS = """
    import os
    import pytest
    from posthouse.support import locks
    from posthouse.testing import slots
    @pytest.fixture
    def holders(tmp_path_factory):
        folder = tmp_path_factory.getbasetemp().parent
        return {locks.holder(folder / f"slot-{number}.lock") for number in range(slots.of_this_machine())}
    @pytest.fixture
    def agent_clis(holders):
        assert os.getpid() in holders
    def test_it(agent_clis): ...
    def test_it_too(agent_clis): ...
    def test_ours(holders):
        assert os.getpid() not in holders
"""


def _pytest(folder: Path, tally: Path, workers: int, *words: str) -> int:
    parallel = ["-n", str(workers)] if workers else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, *parallel, *words],
        cwd=folder,
        env=os.environ | {"POSTHOUSE_TALLY": str(tally)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode

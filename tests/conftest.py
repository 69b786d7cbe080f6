"""What every test may rely on, and the rule for skips.

`./test` sets up all that the tests need, so a test that skips hides something. The exception is what a
machine cannot do: a test says `@pytest.mark.needs_host("root")`, and is skipped, with the reason below, where
that is missing. Any other skip is turned into a failure.

A test with a vendor's CLI is tried a second time when it waited in vain, and `./test` names it: a program
that is not ours may lose a key on a busy machine. There are three second tries for one `./test`; a wrong
value fails at once, and so does all that is ours. No more such tests run at once than the machine carries.
"""

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from posthouse.testing import slots

# How long an example takes says more about what else runs on the machine than about the code.
settings.register_profile("posthouse", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("posthouse")

# Who is started in the background ignores Ctrl-C, and so would every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Where `./test` adds up the results of its several pytest runs.
TALLY_VARIABLE = "POSTHOUSE_TALLY"

#: Modules with tests of many seconds, the longest first: the last one that a worker begins is a short one.
_LONGEST = (
    *("tools/test_delivery", "gateway/test_crash_matrix", "tools/test_belief", "tools/test_gemini_tui"),
    *("tools/test_gemini_headless", "tools/test_mail_skills", "sessions/test_crash_walk"),
    *("tools/test_claude_tui", "tools/test_claude_headless", "turns/test_crashes"),
    *(
        "acceptance/test_cli_agents",
        "acceptance/test_cli_belief",
        "acceptance/test_cli_mail",
        "acceptance/test_cli_mail_fallback",
    ),
    *("acceptance/test_cli_demo", "gateway/test_host_bench", "gateway/test_limits_bench"),
    *("acceptance/test_cli_notify", "tools/test_codex_tui", "tools/test_codex_headless"),
)
#: The fixture that a test with a vendor's CLI has.
_VENDORS_CLIS = "agent_clis"
#: How many of them `./test` tries a second time.
_SECOND_TRIES = 3
#: Errors that mean: nothing came, rather than something wrong.
_WAITED_IN_VAIN = ("NeverHappened", "TimeoutError")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """Something that only some machines can do."""

    is_there: Callable[[], bool]
    reason_without: str


ABILITIES = {
    "root": Ability(is_there=lambda: os.geteuid() == 0, reason_without="needs root"),
    "ordinary user": Ability(
        is_there=lambda: os.geteuid() != 0,
        reason_without="needs an ordinary user: root is refused nothing",
    ),
    "network namespace": Ability(
        is_there=lambda: subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0,
        reason_without="needs the right to make a network namespace",
    ),
}


def pytest_configure(config: pytest.Config) -> None:
    """Allow the second tries that earlier pytest runs of the same `./test` have not used."""
    tally = os.environ.get(TALLY_VARIABLE)
    lines = Path(tally).read_text().splitlines() if tally and Path(tally).is_file() else []
    used = sum(line.startswith("repeated\t") for line in lines)
    config.option.max_suite_reruns = max(0, _SECOND_TRIES - used)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests with a vendor's CLI a slot and a second try, and have what takes long begin first."""
    items.sort(key=_place)
    for item in items:
        fixtures: list[str] = getattr(item, "fixturenames", [])
        if _VENDORS_CLIS in fixtures:
            fixtures.insert(0, vendor_slot.__name__)
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=list(_WAITED_IN_VAIN)))


@pytest.fixture
def vendor_slot(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One of the slots that the workers of this run share; taken before the other fixtures."""
    folder = tmp_path_factory.getbasetemp()
    is_worker = hasattr(request.config, "workerinput")
    with slots.held(folder.parent if is_worker else folder, slots.of_this_machine()):
        yield


def _place(item: pytest.Item) -> int:
    module = f"{item.path.parent.name}/{item.path.stem}"
    return _LONGEST.index(module) if module in _LONGEST else len(_LONGEST)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs what this machine does not have."""
    for marker in item.iter_markers("needs_host"):
        ability = ABILITIES[marker.args[0]]
        if not ability.is_there():
            pytest.skip(ability.reason_without)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip for another reason into a failure."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        _refuse_unless_declared(report, item.nodeid)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn the skip of a whole module into a failure."""
    report = yield
    if report.skipped:
        _refuse_unless_declared(report, collector.nodeid)
    return report


def _refuse_unless_declared(report: pytest.TestReport | pytest.CollectReport, nodeid: str) -> None:
    reason = _skip_reason(report)
    if reason not in {ability.reason_without for ability in ABILITIES.values() if not ability.is_there()}:
        report.outcome = "failed"
        report.longrepr = f"{nodeid} skipped: {reason}\nonly needs_host may skip: see tests/conftest.py"


def _skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    where_and_why = report.longrepr
    assert isinstance(where_and_why, tuple)
    return where_and_why[2].removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add this run's results to the tally of `./test`."""
    path = os.environ.get(TALLY_VARIABLE)
    is_worker = hasattr(terminalreporter.config, "workerinput")
    if path is None or is_worker:  # the workers of a parallel run have reported to the one that counts
        return
    stats = terminalreporter.stats
    lines = [f"passed\t{len(stats.get('passed', []))}"]
    lines += [f"failed\t{len(stats.get('failed', [])) + len(stats.get('error', []))}"]
    for reason, count in Counter(_skip_reason(report) for report in stats.get("skipped", [])).items():
        lines += [f"skipped\t{count}\t{reason}"]
    lines += [f"repeated\t1\t{report.nodeid}" for report in stats.get("rerun", [])]
    with Path(path).open("a") as tally:
        tally.write("".join(f"{line}\n" for line in lines))

"""Which deaths are tried."""

from posthouse.testing.crash import plan, points
from posthouse.testing.crash.trial import ANY_MOMENT

#: What is not on the way of a request, and the tests that kill processes there.
ELSEWHERE = {
    "server/turns/": "tests/integration/server/test_turn_crashes.py",
    "gateway/host/": "tests/integration/gateway/test_host.py",
    "mailbox/": "tests/integration/mailbox",
    "sessions/": "tests/integration/sessions/test_crash_walk.py",
    "terminal/session.py": "tests/integration/sessions/test_crash_walk.py",
}


def test_every_step_of_the_source_is_in_the_matrix() -> None:
    """A new step is recorded with `bench/crash.py --record`, or is of a part that has a walk of its own."""
    visited = {step for row in plan.recorded() for step in row.steps}

    missing = [
        (pattern, modules)
        for pattern, modules in points.found().items()
        if not all(module.startswith(tuple(ELSEWHERE)) for module in modules)
        and not any(points.matches(pattern, step) for step in visited)
    ]

    assert missing == []


def test_the_chosen_ones_visit_every_recorded_step() -> None:
    """Each victim dies at least once wherever its death leaves something of its own, and between steps."""
    rows = plan.recorded()
    chosen = plan.chosen(rows, 120, seed=1)

    assert len(chosen) == 120
    assert {(row.victim, step) for row in rows for step in row.steps if plan.is_its_own(step)} <= {
        (trial.victim, trial.step) for trial in chosen
    }
    assert any(trial.step == ANY_MOMENT for trial in chosen)
    assert chosen == plan.chosen(rows, 120, seed=1)


def test_a_file_is_either_there_or_not() -> None:
    """Before it is renamed the old one is there, afterwards the new one; a kill knows no other places."""
    steps = ["write a.json", "fsync a.json", "rename a.json", "fsync the folder of a.json", "wrote a.json"]

    assert [step for step in steps if plan.is_its_own(step)] == ["rename a.json", "wrote a.json"]


def test_a_seed_says_which_trials_there_are() -> None:
    """The same seed is the same run, whatever its length."""
    rows = plan.recorded()

    assert plan.trials(rows, 50, seed=3) == plan.trials(rows, 80, seed=3)[:50]
    assert plan.trials(rows, 50, seed=3) != plan.trials(rows, 50, seed=4)


def test_a_step_is_known_by_its_pattern() -> None:
    """A file's name stands for the star, and nothing else does."""
    assert points.matches("write *", "write state.json")
    assert not points.matches("write *", "rewrite state.json")
    assert not points.matches("write *", "write ")
    assert points.matches("queue commit", "queue commit")
    assert not points.matches("queue commit", "queue committed")

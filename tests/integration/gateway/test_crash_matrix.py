"""Deaths of the crash matrix, chosen so that each leaves something else; the bench plays thousands."""

import pytest

from posthouse.testing.crash import plan, working
from posthouse.testing.crash.trial import WRONG, Result

_PARTS = 3
_CHOSEN = 76


@pytest.mark.parametrize("part", range(_PARTS))
def test_nothing_is_lost_repeated_or_claimed_falsely(part: int) -> None:
    """Whoever dies wherever: what was accepted is carried out once, or its sender is told why not."""
    trials = plan.chosen(plan.recorded(), _CHOSEN, seed=1)[part::_PARTS]
    results: list[Result] = []

    working.play(trials, jobs=1, tell=lambda _, result: results.append(result))

    wrong = [one for one in results if set(one.verdicts) & set(WRONG)]
    assert wrong == []
    assert len(results) == len(trials)
    # A step that is not reached any more is dead wood in the matrix; times differ from run to run.
    assert sum(one.died_there for one in results) >= len(trials) // 2

"""What may be said of wake-ups, against what the agent got."""

import pytest

from posthouse.testing.crash.trial import Verdict
from posthouse.testing.crash.waking import Wakes, verdict


def wakes(*states: str, times: int, audited: int | None = None, polls: int = 1) -> Wakes:
    requests = {f"r{number}": state for number, state in enumerate(states)}
    count = len(states) if audited is None else audited
    return Wakes(
        requests=requests,
        audited=[f"r{number}" for number in range(count)],
        times=times,
        polls=polls,
        seconds=2.0,
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(wakes("completed", times=1), "kept", id="woken once"),
        pytest.param(wakes("failed", "completed", times=1), "kept", id="woken by the next gateway"),
        pytest.param(wakes("failed", "completed", times=2), "uncertain", id="the failed one may have come"),
        pytest.param(wakes("completed", "completed", times=2), "kept", id="again at the next interval"),
        pytest.param(wakes(times=0), "lost", id="never woken"),
        pytest.param(wakes("failed", times=0), "lost", id="tried once, and never again"),
        pytest.param(wakes("completed", "accepted", times=1), "lost", id="accepted, and never begun"),
        pytest.param(wakes("completed", times=2), "twice", id="one request, woken twice"),
        pytest.param(wakes("completed", times=1, polls=6), "twice", id="more polls than intervals"),
        pytest.param(wakes("completed", "completed", times=1), "lied", id="completed, never received"),
        pytest.param(wakes("completed", times=1, audited=0), "lied", id="a request without its audit row"),
        pytest.param(wakes("completed", times=1, audited=2), "lied", id="an audit row without its request"),
    ],
)
def test_verdicts(found: Wakes, expected: Verdict) -> None:
    """Mail wakes its agent at least once, as often as is written down, and no more often than polls come."""
    assert verdict(found) == expected

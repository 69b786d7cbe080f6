"""What may be said of a prompt, against what the agent got."""

import pytest

from posthouse.testing.crash.judging import Claim, Story, judge
from posthouse.testing.crash.trial import Verdict

ACCEPTED = Claim(text="p", was_accepted=True)
UNHEARD = Claim(text="p", was_accepted=False)
CANCELLED = Claim(text="p", was_accepted=True, was_cancelled=True)
MAY = "it may have reached the agent"


def story(
    receipt: str | None, error: str | None = None, *, row: str | None = None, lost: bool = False
) -> Story:
    return Story(receipt=receipt, error=error, row=row, is_told_lost=lost)


@pytest.mark.parametrize(
    ("claim", "found", "times", "verdict"),
    [
        pytest.param(ACCEPTED, story("completed"), 1, "kept", id="carried out once"),
        pytest.param(ACCEPTED, story("completed"), 2, "twice", id="carried out twice"),
        pytest.param(ACCEPTED, story("completed"), 0, "lied", id="completed, never received"),
        pytest.param(ACCEPTED, story("unknown", row="completed"), 0, "lied", id="a row that is not true"),
        pytest.param(ACCEPTED, story(None), 0, "lost", id="accepted, and nothing is left of it"),
        pytest.param(ACCEPTED, story("accepted"), 0, "lost", id="accepted, and never begun"),
        pytest.param(ACCEPTED, story("running"), 1, "lost", id="never said to be over"),
        pytest.param(ACCEPTED, story("failed", "no"), 0, "kept", id="failed, and its sender is told"),
        pytest.param(ACCEPTED, story("failed", "no"), 1, "lied", id="failed, and carried out"),
        pytest.param(ACCEPTED, story("failed", MAY), 1, "uncertain", id="failed, and says that it may have"),
        pytest.param(ACCEPTED, story("unknown", MAY), 0, "uncertain", id="unknown is an honest answer"),
        pytest.param(ACCEPTED, story("interrupted"), 1, "kept", id="interrupted"),
        pytest.param(ACCEPTED, story(None, lost=True), 0, "kept", id="a reminder that is told to be lost"),
        pytest.param(UNHEARD, story(None), 0, "kept", id="not accepted, and not there"),
        pytest.param(UNHEARD, story(None), 1, "lied", id="carried out, and nothing knows of it"),
        pytest.param(UNHEARD, story("completed"), 1, "kept", id="accepted, and the answer was lost"),
        pytest.param(CANCELLED, story("cancelled"), 0, "kept", id="cancelled"),
        pytest.param(CANCELLED, story("completed"), 1, "lied", id="cancelled, and carried out"),
        pytest.param(ACCEPTED, story("cancelled"), 1, "lied", id="said to be cancelled, and carried out"),
    ],
)
def test_verdicts(claim: Claim, found: Story, times: int, verdict: Verdict) -> None:
    """Lost, twice and lied are wrong; uncertain is what says that it is not known."""
    assert judge(claim, found, times=times)[0] == verdict

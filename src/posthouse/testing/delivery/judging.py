"""What was claimed of each prompt, against how often the agent really got it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from posthouse.testing.delivery.trials import Trial

Claim = Literal["submitted", "refused", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One prompt and what was said about it."""

    trial: Trial
    claim: Claim
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One attempt and what really happened."""

    attempt: Attempt
    times_received: int
    #: None when the claim was true.
    problem: str | None


def judge(attempts: Sequence[Attempt], received: Sequence[str]) -> list[Verdict]:
    """Hold every claim against the prompts that really arrived."""
    verdicts = []
    for attempt in attempts:
        times = sum(attempt.trial.mark in text for text in received)
        verdicts.append(
            Verdict(attempt=attempt, times_received=times, problem=_problem(attempt.claim, times))
        )
    return verdicts


def _problem(claim: Claim, times: int) -> str | None:
    if times > 1:
        return f"received {times} times"
    if claim == "submitted" and times == 0:
        return "said to be submitted, never received"
    if claim == "refused" and times == 1:
        return "said to be refused, received"
    return None


def summary(verdicts: Sequence[Verdict]) -> str:
    """One line for people."""
    claims = [verdict.attempt.claim for verdict in verdicts]
    lost = sum(verdict.problem is not None for verdict in verdicts)
    counted = ", ".join(f"{claims.count(claim)} {claim}" for claim in ("submitted", "refused", "unknown"))
    return f"{len(verdicts)} prompts: {counted}; {lost} false claims"

"""Matches prompts with exchanges of the agent's transcript. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from posthouse.agent.acknowledgement import normalize_prompt, transcript_evidence
from posthouse.agent.adapter import PromptResult
from posthouse.support import clock
from posthouse.tools.tool import Exchange

#: Tolerance: some CLIs truncate times to milliseconds.
_SLACK = timedelta(milliseconds=50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A prompt that was delivered to the agent."""

    request_id: str
    prompt: str
    #: The start of typing.
    since: datetime
    #: The instance that received it.
    instance_id: str | None
    is_acknowledged: bool = False
    #: Its receipt has the stage `unknown`.
    is_given_up: bool = False


def match(expected: Sequence[Expected], exchanges: Sequence[Exchange]) -> Mapping[str, Exchange]:
    """The exchange of each prompt that has one, by request id.

    Equal prompts are matched in order: the earlier prompt gets the earlier exchange.
    """
    free = list(exchanges)
    found: dict[str, Exchange] = {}
    for one in sorted(expected, key=lambda each: each.since):
        wanted = normalize_prompt(one.prompt)
        mine = next(
            (each for each in free if normalize_prompt(each.prompt) == wanted and _is_after(each, one)), None
        )
        if mine is not None:
            free.remove(mine)
            found[one.request_id] = mine
    return found


def ending_of(exchange: Exchange) -> PromptResult | None:
    """How the turn of *exchange* ended; None while it runs."""
    match exchange.outcome:
        case None:
            return None
        case "success":
            ending = PromptResult(outcome="completed", answer=exchange.answer)
        case "error":
            error = exchange.answer or "the agent's turn ended with an error"
            ending = PromptResult(outcome="failed", error=error)
        case "interrupted":
            ending = PromptResult(outcome="interrupted", answer=exchange.answer)
    return replace(ending, evidence=transcript_evidence(exchange), usage=exchange.usage)


def _is_after(exchange: Exchange, one: Expected) -> bool:
    try:
        return clock.parse(exchange.submitted_at_utc) >= one.since - _SLACK
    except ValueError:
        return False  # without a time the order can't be proved

"""Which exchange of the agent's transcript is whose prompt. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from posthouse.agent.acknowledgement import essence, transcript_evidence
from posthouse.agent.adapter import Ending
from posthouse.support import clock
from posthouse.tools.tool import Exchange

#: Some CLIs cut their times to whole milliseconds.
_SLACK = timedelta(milliseconds=50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A prompt that the agent was given."""

    request_id: str
    prompt: str
    #: When somebody began to type it.
    since: datetime
    #: The instance that got it.
    instance_id: str | None
    is_acknowledged: bool = False
    #: Its receipt says `unknown`.
    is_given_up: bool = False


def match(expected: Sequence[Expected], told: Sequence[Exchange]) -> Mapping[str, Exchange]:
    """The exchange of each prompt that has one, by its request id.

    The same words given twice are two exchanges: the earlier prompt has the earlier one.
    """
    free = list(told)
    found: dict[str, Exchange] = {}
    for one in sorted(expected, key=lambda each: each.since):
        wanted = essence(one.prompt)
        mine = next((each for each in free if essence(each.prompt) == wanted and _is_after(each, one)), None)
        if mine is not None:
            free.remove(mine)
            found[one.request_id] = mine
    return found


def ending_of(exchange: Exchange) -> Ending | None:
    """How the turn of *exchange* ended; None while it runs."""
    match exchange.outcome:
        case None:
            return None
        case "success":
            ending = Ending(outcome="completed", answer=exchange.answer)
        case "error":
            error = exchange.answer or "the agent's turn ended with an error"
            ending = Ending(outcome="failed", error=error)
        case "interrupted":
            ending = Ending(outcome="interrupted", answer=exchange.answer)
    return replace(ending, evidence=transcript_evidence(exchange), usage=exchange.usage)


def _is_after(exchange: Exchange, one: Expected) -> bool:
    try:
        return clock.parse(exchange.submitted_at_utc) >= one.since - _SLACK
    except ValueError:
        return False  # a transcript that tells no times proves nothing about when

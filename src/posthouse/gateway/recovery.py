"""What a gateway that stopped or died left behind: said aloud, and waited for."""

import asyncio
import logging
from collections.abc import Callable

from posthouse.agent.adapter import AgentAdapter, Ending
from posthouse.errors import PosthouseError
from posthouse.events.journal import Journal
from posthouse.gateway.slot import Slot
from posthouse.queue import Finished, Found, LeftTurn, Queue, QueueUnavailable

NEVER_BEGAN = "never begun"
_RETRY_SECONDS = 5.0


def report(found: Found, journal: Journal, log: logging.Logger) -> None:
    """Tell what opening the queue found."""
    if found.set_aside is not None:
        kept_as = found.set_aside.kept_as.name
        journal.add(
            "queue_set_aside",
            kept_as=kept_as,
            reason=found.set_aside.reason,
        )
        log.error(
            "the queue could not be read and was set aside; what waited in it is not carried out",
            extra={"kept_as": kept_as, "reason": found.set_aside.reason},
        )
    for failed in found.failed:
        journal.add(
            "failed", request_id=failed.request_id, error_detail=failed.error, result_json=failed.result
        )
        log.warning("request ran when the last gateway died", extra={"request_id": failed.request_id})


async def wait_for_turns(
    left: list[LeftTurn],
    *,
    slot: Slot,
    queue: Queue,
    adapter: AgentAdapter,
    journal: Journal,
    log: logging.Logger,
    told: Callable[[str, Ending], None],
) -> None:
    """Hold the slot until every turn in *left* has ended, and record how. Their requests are not repeated."""
    async with slot.work("a turn of an earlier gateway"):
        for turn in left:
            async with slot.waiting():
                ending = await _end_of(turn, adapter, log)
            outcome = NEVER_BEGAN if ending is None else ending.outcome
            told(turn.request_id, ending or Ending(outcome="failed", error="its turn never began"))
            recorded = await _record(queue, turn, outcome, log)
            if recorded is None:
                continue
            journal.add(
                "left_turn_ended",
                request_id=turn.request_id,
                turn_id=turn.turn_id,
                outcome=outcome,
                error_detail=recorded.error,
            )
            log.info("turn of an earlier gateway ended", extra={"turn_id": turn.turn_id, "outcome": outcome})


async def _end_of(turn: LeftTurn, adapter: AgentAdapter, log: logging.Logger) -> Ending | None:
    """How *turn* ended; unknown when its files don't tell: the agent can write there, too."""
    try:
        return await adapter.end_of(turn.turn_id)
    except (PosthouseError, OSError) as error:
        log.warning("a turn's end can't be found out", extra={"turn_id": turn.turn_id, "error": str(error)})
        return Ending(outcome="unknown", error=str(error))


async def _record(queue: Queue, turn: LeftTurn, outcome: str, log: logging.Logger) -> Finished | None:
    while True:
        try:
            return await queue.record_turn(turn.request_id, outcome)
        except QueueUnavailable as error:
            log.error("a turn's outcome can't be written; trying again", extra={"error": str(error)})
            await asyncio.sleep(_RETRY_SECONDS)

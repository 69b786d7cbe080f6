"""Recovers the state of an earlier gateway: reports failed requests and waits for turns that still run."""

import asyncio
import logging
from collections.abc import Callable

from posthouse.agent.adapter import AgentAdapter, PromptResult
from posthouse.errors import PosthouseError
from posthouse.events.journal import Journal
from posthouse.gateway.slot import Slot
from posthouse.queue import Finished, Queue, QueueUnavailable, RecoveryReport, UnfinishedTurn

NEVER_BEGAN = "never begun"
_RETRY_SECONDS = 5.0


def report(found: RecoveryReport, journal: Journal, log: logging.Logger) -> None:
    """Write to journal and log what opening the queue found."""
    if found.set_aside is not None:
        kept_as = found.set_aside.kept_as.name
        journal.add(
            "queue_set_aside",
            kept_as=kept_as,
            reason=found.set_aside.reason,
        )
        log.error(
            "the queue was unreadable and was set aside; its requests are not run",
            extra={"kept_as": kept_as, "reason": found.set_aside.reason},
        )
    for failed in found.failed:
        journal.add(
            "failed", request_id=failed.request_id, error_detail=failed.error, result_json=failed.result
        )
        log.warning("request was running when the last gateway died", extra={"request_id": failed.request_id})


async def wait_for_turns(
    left: list[UnfinishedTurn],
    *,
    slot: Slot,
    queue: Queue,
    adapter: AgentAdapter,
    journal: Journal,
    log: logging.Logger,
    on_ended: Callable[[str, PromptResult], None],
) -> None:
    """Hold the slot until every turn in *left* has ended, and record its outcome. No request is repeated."""
    async with slot.work("a turn of an earlier gateway"):
        for turn in left:
            async with slot.waiting():
                ending = await _end_of(turn, adapter, log)
            outcome = NEVER_BEGAN if ending is None else ending.outcome
            on_ended(turn.request_id, ending or PromptResult(outcome="failed", error="its turn never began"))
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


async def _end_of(turn: UnfinishedTurn, adapter: AgentAdapter, log: logging.Logger) -> PromptResult | None:
    """How *turn* ended; unknown when its files are invalid, because the agent can write them too."""
    try:
        return await adapter.turn_result(turn.turn_id)
    except (PosthouseError, OSError) as error:
        log.warning("turn outcome unreadable", extra={"turn_id": turn.turn_id, "error": str(error)})
        return PromptResult(outcome="unknown", error=str(error))


async def _record(queue: Queue, turn: UnfinishedTurn, outcome: str, log: logging.Logger) -> Finished | None:
    while True:
        try:
            return await queue.record_turn(turn.request_id, outcome)
        except QueueUnavailable as error:
            log.error("turn outcome can't be written; retrying", extra={"error": str(error)})
            await asyncio.sleep(_RETRY_SECONDS)

"""Telling what was decided about work that waited for an agent which was replaced."""

import logging
from collections.abc import Callable

from posthouse.contracts.gateway_http import ReconciliationResult
from posthouse.errors import Conflict
from posthouse.events.journal import Journal
from posthouse.queue import Decided, Finished, Instance


class OtherEpoch(Conflict):
    """The decision is about an instance that is not the current one."""

    code = "other_epoch"


def check(expected: int | None, current: Instance | None) -> None:
    """Return when a decision that was made with *expected* in mind is about *current*.

    Raises:
        OtherEpoch: The agent was replaced once more since somebody looked.
    """
    epoch = 0 if current is None else current.epoch
    if expected not in (None, epoch):
        raise OtherEpoch(
            f"the decision is about epoch {expected}, but the agent is at epoch {epoch}: look again first"
        )


def tell(
    decided: Decided, journal: Journal, log: logging.Logger, *, finished: Callable[[Finished], None]
) -> None:
    """Write the decision down, and the end of every request that it ended."""
    journal.add(
        "reconciled",
        decision=decided.decision,
        managed_agent_instance_epoch=decided.instance.epoch,
        managed_agent_instance_id=decided.instance.instance_id,
        request_ids=decided.request_ids,
    )
    log.info(
        "reconciliation decided",
        extra={
            "decision": decided.decision,
            "epoch": decided.instance.epoch,
            "requests": len(decided.request_ids),
        },
    )
    if decided.error is not None:
        for request_id in decided.request_ids:
            finished(Finished(request_id=request_id, state="failed", error=decided.error, ends_as="failed"))


def result_of(decided: Decided) -> ReconciliationResult:
    """The answer to whoever decided."""
    assert decided.decision != "relaunch"
    return ReconciliationResult(
        decision=decided.decision,
        managed_agent_instance_epoch=decided.instance.epoch,
        decided_at_utc=decided.decided_at_utc,
        request_ids=list(decided.request_ids),
    )

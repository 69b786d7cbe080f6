"""Checks and records decisions about work that was queued for a replaced agent."""

import logging
from collections.abc import Callable

from posthouse.contracts.gateway_http import ReconciliationResult
from posthouse.errors import Conflict
from posthouse.events.journal import Journal
from posthouse.queue import EpochDecision, Finished, Instance


def check(expected: int | None, current: Instance | None) -> None:
    """Return when the epoch that the caller expects is that of *current*.

    Raises:
        Conflict: `other_epoch`: the agent was replaced again since the caller read its epoch.
    """
    epoch = 0 if current is None else current.epoch
    if expected not in (None, epoch):
        raise Conflict(
            f"the decision is about epoch {expected}, but the agent is at epoch {epoch}; read it again",
            code="other_epoch",
        )


def report(
    decided: EpochDecision, journal: Journal, log: logging.Logger, *, finished: Callable[[Finished], None]
) -> None:
    """Write the decision to journal and log, and report every request that it ended."""
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


def result_of(decided: EpochDecision) -> ReconciliationResult:
    """The response to the decision."""
    assert decided.decision != "relaunch"
    return ReconciliationResult(
        decision=decided.decision,
        managed_agent_instance_epoch=decided.instance.epoch,
        decided_at_utc=decided.decided_at_utc,
        request_ids=list(decided.request_ids),
    )

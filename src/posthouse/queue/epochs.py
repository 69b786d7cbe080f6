"""Agent instances of a session, and the decisions about their replacement.

Called by one thread, inside a transaction.
"""

from typing import Literal

from posthouse.errors import Conflict
from posthouse.queue.queue import Choice, Counts, EpochDecision, Instance
from posthouse.queue.store import Store
from posthouse.support import clock

DISCARDED = "discarded: the agent it was accepted for was replaced, and a decision was made not to replay it"
_FIRST: Literal["first"] = "first"
_RELAUNCH: Literal["relaunch"] = "relaunch"


def latest(store: Store) -> Instance | None:
    """The instance observed last; None before the first."""
    newest = store.run("newest_instance").fetchone()
    if newest is None:
        return None
    return Instance(epoch=newest[0], instance_id=newest[1], is_decided=newest[2] is not None)


def observe(store: Store, instance_id: str, *, is_known: bool) -> tuple[Instance, EpochDecision | None]:
    """Record the instance. A new one gets a new epoch, which may be decided at once."""
    before = latest(store)
    if before is not None and before.instance_id == instance_id:
        return before, None
    now = clock.iso_seconds(clock.now())
    epoch = 1 if before is None else before.epoch + 1
    # Running requests belong to the old instance and end with it; only waiting ones could reach the new one.
    is_relaunch = before is not None and is_known and store.counts.accepted == 0
    decision = _FIRST if before is None else _RELAUNCH if is_relaunch else None
    store.run("add_instance", epoch=epoch, instance_id=instance_id, now=now, decision=decision)
    instance = Instance(epoch=epoch, instance_id=instance_id, is_decided=decision is not None)
    if not is_relaunch:
        return instance, None
    return instance, EpochDecision(decision=_RELAUNCH, instance=instance, decided_at_utc=now)


def decide(store: Store, choice: Choice) -> EpochDecision:
    """Decide about the current instance: replay or discard the waiting requests."""
    current = latest(store)
    if current is None or current.is_decided:
        raise Conflict(
            "there is nothing to decide: the agent was not replaced, or it is decided",
            code="nothing_to_decide",
        )
    waiting = tuple(row[0] for row in store.run("accepted_ids"))
    for request_id in waiting:
        if choice == "replay":
            store.run("replay", request_id=request_id, epoch=current.epoch)
        else:
            store.fail(request_id, DISCARDED)
    if choice == "discard":
        store.counts = Counts(0, store.counts.running)
    store.run("decide", decision=choice, epoch=current.epoch)
    return EpochDecision(
        decision=choice,
        instance=Instance(epoch=current.epoch, instance_id=current.instance_id, is_decided=True),
        decided_at_utc=clock.iso_seconds(clock.now()),
        request_ids=waiting,
        error=DISCARDED if choice == "discard" else None,
    )

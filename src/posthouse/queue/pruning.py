"""Retention of the request history.

Called by one thread, inside a transaction. Each call deletes a small batch, so that concurrent requests
do not wait for all of it. Freed pages are returned to the file system in steps
(`auto_vacuum = INCREMENTAL`); there is no full VACUUM.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from posthouse.queue import keys
from posthouse.queue.store import Store
from posthouse.support import clock

#: Rows per call: a few milliseconds of the writer.
_BATCH = 200
_OF_REQUEST = (
    "prune_request",
    "prune_order",
    "prune_replay",
    "unlink_turn",
    "prune_prompt",
    "prune_stages",
)
#: Pages returned per call.
_PAGES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionLimits:
    """Retention limits for finished requests and audit rows."""

    #: At most this many, whatever their age.
    max_finished: int = 10_000
    #: Covers an absence of some weeks.
    max_age: timedelta = timedelta(days=30)
    #: Kept whatever their age: a clock jump ahead would expire everything.
    min_finished: int = 1_000
    #: Audit rows of the notifier, one per poll. Beyond `min_audit`, rows older than `max_age` are deleted.
    max_audit: int = 10_000
    min_audit: int = 1_000


def prune(store: Store, limits: RetentionLimits, *, now: datetime) -> int:
    """Delete a batch of rows beyond *limits*; the number deleted."""
    many, few = (_cutoff(store, keep) for keep in (limits.max_finished, limits.min_finished))
    before = clock.iso_seconds(now - limits.max_age)
    doomed = [row[0] for row in store.run("prunable", many=many, few=few, before=before, batch=_BATCH)]
    for request_id in doomed:
        for statement in _OF_REQUEST:
            store.run(statement, request_id=request_id)
    audits = store.run(
        "prune_audit", many=limits.max_audit, few=limits.min_audit, before=before, batch=_BATCH
    ).rowcount
    return len(doomed) + audits + keys.prune(store)


def release_pages(store: Store) -> None:
    """Return some free pages to the file system."""
    (free,) = store.run("free_pages").fetchone()
    for _ in range(min(free, _PAGES)):
        store.run("give_back")


def _cutoff(store: Store, keep: int) -> int:
    """The lowest sequence among the newest *keep* finished requests; 0 while there are fewer."""
    found = store.run("oldest_kept", keep=keep).fetchone()
    return 0 if found is None else int(found[0])

"""How much of the history is kept.

Like the store's own operations: called by one thread, inside a transaction. Each call does a small part, so
that a request which comes meanwhile does not wait for all of it. Freed pages go back to the file system
bit by bit (`auto_vacuum = INCREMENTAL`); nobody ever waits for a VACUUM.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from posthouse.queue import keys
from posthouse.queue.store import Store
from posthouse.support import clock

#: Rows that one call looks at: a few milliseconds of the writer.
_BATCH = 200
_OF_REQUEST = (
    "prune_request",
    "prune_order",
    "prune_replay",
    "unlink_turn",
    "prune_prompt",
    "prune_stages",
)
#: Pages that one call gives back.
_PAGES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What of the finished requests is kept."""

    #: Beyond so many nobody scrolls, and the file would only grow.
    max_finished: int = 10_000
    #: Somebody who comes back from a holiday still finds what happened.
    max_age: timedelta = timedelta(days=30)
    #: Kept whatever their age: a clock that jumps ahead makes everything old.
    min_finished: int = 1_000
    #: Rows of the notifier's audit, one for each poll; of those beyond `min_audit`, only the younger.
    max_audit: int = 10_000
    min_audit: int = 1_000


def prune(store: Store, limits: Limits, *, now: datetime) -> int:
    """Drop a part of what is beyond *limits*; the number of rows dropped."""
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


def give_back(store: Store) -> None:
    """Return some free pages to the file system."""
    (free,) = store.run("free_pages").fetchone()
    for _ in range(min(free, _PAGES)):
        store.run("give_back")


def _cutoff(store: Store, keep: int) -> int:
    """The sequence of the oldest of the newest *keep* finished requests; 0 while there are fewer."""
    found = store.run("oldest_kept", keep=keep).fetchone()
    return 0 if found is None else int(found[0])

"""Which headless turn carries out which request, and how one ended that outlived its gateway.

Like the store's own operations: called by one thread, inside a transaction.
"""

from posthouse.queue.queue import Finished, LeftTurn
from posthouse.queue.store import Store
from posthouse.support import clock


def left(store: Store) -> list[LeftTurn]:
    """Turns whose end was never recorded."""
    return [
        LeftTurn(request_id=request_id, turn_id=turn_id) for request_id, turn_id in store.run("open_turns")
    ]


def open_id(store: Store) -> str | None:
    """The turn of the oldest open prompt that has one."""
    found = store.run("open_turn_id").fetchone()
    return None if found is None else str(found[0])


def record(store: Store, request_id: str, outcome: str) -> Finished | None:
    """Record the end of a turn, also in the reason of its failed request; None when it was recorded."""
    now = clock.iso_seconds(clock.now())
    if store.run("end_turn", request_id=request_id, outcome=outcome, now=now).rowcount == 0:
        return None
    store.run("explain", request_id=request_id, more=f"; later its turn was found {outcome}")
    found = store.run("error_of", request_id=request_id).fetchone()
    return Finished(request_id=request_id, state="failed", error=None if found is None else found[0])

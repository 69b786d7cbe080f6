"""Links between requests and headless turns, and the ends of turns that outlived their gateway.

Called by one thread, inside a transaction.
"""

from posthouse.queue.queue import Finished, UnfinishedTurn
from posthouse.queue.store import Store
from posthouse.support import clock


def unfinished(store: Store) -> list[UnfinishedTurn]:
    """Turns without a recorded end."""
    return [
        UnfinishedTurn(request_id=request_id, turn_id=turn_id)
        for request_id, turn_id in store.run("open_turns")
    ]


def open_id(store: Store) -> str | None:
    """The turn of the oldest open prompt that has one."""
    found = store.run("open_turn_id").fetchone()
    return None if found is None else str(found[0])


def record(store: Store, request_id: str, outcome: str) -> Finished | None:
    """Record the end of a turn, also in the error of its failed request; None when it was recorded before."""
    now = clock.iso_seconds(clock.now())
    if store.run("end_turn", request_id=request_id, outcome=outcome, now=now).rowcount == 0:
        return None
    store.run("explain", request_id=request_id, more=f"; later its turn was found {outcome}")
    found = store.run("error_of", request_id=request_id).fetchone()
    return Finished(request_id=request_id, state="failed", error=None if found is None else found[0])

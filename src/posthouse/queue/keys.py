"""Idempotency keys: which request was made under which, for a day.

Like the store's own operations: called by one thread, inside a transaction.
"""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from posthouse.queue.queue import Accepted, Request
from posthouse.queue.receipt import FirstAnswer, Key, KeyReused
from posthouse.queue.store import Store
from posthouse.support import clock

#: Whoever repeats a request does so within hours, or looks at what became of it.
MAX_AGE = timedelta(hours=24)
#: The oldest go first; a client that makes a key for each request fills this in a day of hard work.
MAX_KEYS = 50_000
_BATCH = 200


def first_answer(store: Store, key: Key) -> FirstAnswer | None:
    """What was answered under *key*.

    Raises:
        KeyReused: Something else was asked under it.
    """
    oldest = clock.iso_micros(clock.now() - MAX_AGE)
    found = store.run("find_key", name=key.name, oldest=oldest).fetchone()
    if found is None:
        return None
    fingerprint, request_id, answer = found
    if fingerprint != key.fingerprint:
        raise KeyReused
    return FirstAnswer(request_id=request_id, answer=None if answer is None else json.loads(answer))


def put(store: Store, request: Request, *, start: bool, key: Key) -> Accepted:
    """Accept *request* under *key*, or give the first answer again.

    Raises:
        KeyReused: Something else was asked under it.
    """
    if (first := find(store, key)) is not None:
        return first
    accepted = store.put(request, start=start)
    answer = {"accepted_at_utc": accepted.accepted_at_utc, "depth": accepted.depth, "epoch": accepted.epoch}
    keep(store, key, accepted.request_id, answer)
    return accepted


def find(store: Store, key: Key) -> Accepted | None:
    """The first answer of a request that was queued under *key*, once more.

    Raises:
        KeyReused: Something else was asked under it.
    """
    first = first_answer(store, key)
    if first is None:
        return None
    if first.answer is None or "depth" not in first.answer:
        raise KeyReused  # it stands for a prompt that went past the queue
    return Accepted(request_id=first.request_id, is_repeat=True, **first.answer)


def keep(store: Store, key: Key, request_id: str, answer: Mapping[str, Any] | None) -> None:
    """Let *key* stand for *request_id*; one that expired begins anew."""
    store.run(
        "put_key",
        name=key.name,
        fingerprint=key.fingerprint,
        request_id=request_id,
        now=clock.iso_micros(clock.now()),
        answer=None if answer is None else json.dumps(answer),
    )


def keep_answer(store: Store, key: Key, answer: Mapping[str, Any]) -> None:
    store.run("answer_key", name=key.name, fingerprint=key.fingerprint, answer=json.dumps(answer))


def prune(store: Store) -> int:
    """Drop some of what expired or is too much; how many."""
    oldest = clock.iso_micros(clock.now() - MAX_AGE)
    dropped = store.run("expire_keys", oldest=oldest, batch=_BATCH).rowcount
    return dropped + store.run("prune_keys", keep=MAX_KEYS, batch=_BATCH).rowcount

"""Idempotency keys: each maps to its request for a day.

Called by one thread, inside a transaction.
"""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from posthouse.queue.queue import Accepted, Request
from posthouse.queue.receipt import IdempotencyKey, StoredResponse, key_reused
from posthouse.queue.store import Store
from posthouse.support import clock

#: Clients retry within hours.
MAX_AGE = timedelta(hours=24)
#: The oldest are dropped first. A busy client with one key per request may reach this within a day.
MAX_KEYS = 50_000
_BATCH = 200


def stored_response(store: Store, key: IdempotencyKey) -> StoredResponse | None:
    """The stored response of *key*; None when the key is new or expired.

    Raises:
        InvalidInput: The key was used for a different request.
    """
    oldest = clock.iso_micros(clock.now() - MAX_AGE)
    found = store.run("find_key", name=key.name, oldest=oldest).fetchone()
    if found is None:
        return None
    fingerprint, request_id, answer = found
    if fingerprint != key.fingerprint:
        raise key_reused()
    return StoredResponse(request_id=request_id, answer=None if answer is None else json.loads(answer))


def put(store: Store, request: Request, *, start: bool, key: IdempotencyKey) -> Accepted:
    """Accept *request* under *key*, or return the first response again.

    Raises:
        InvalidInput: The key was used for a different request.
    """
    if (first := find_accepted(store, key)) is not None:
        return first
    accepted = store.put(request, start=start)
    answer = {"accepted_at_utc": accepted.accepted_at_utc, "depth": accepted.depth, "epoch": accepted.epoch}
    store_key(store, key, accepted.request_id, answer)
    return accepted


def find_accepted(store: Store, key: IdempotencyKey) -> Accepted | None:
    """The stored acceptance of the request queued under *key*; None when the key is new.

    Raises:
        InvalidInput: The key was used for a different request.
    """
    first = stored_response(store, key)
    if first is None:
        return None
    if first.answer is None or "depth" not in first.answer:
        raise key_reused()  # the key belongs to a direct prompt
    return Accepted(request_id=first.request_id, is_repeat=True, **first.answer)


def store_key(store: Store, key: IdempotencyKey, request_id: str, answer: Mapping[str, Any] | None) -> None:
    """Map *key* to *request_id*, replacing an expired entry."""
    store.run(
        "put_key",
        name=key.name,
        fingerprint=key.fingerprint,
        request_id=request_id,
        now=clock.iso_micros(clock.now()),
        answer=None if answer is None else json.dumps(answer),
    )


def store_response(store: Store, key: IdempotencyKey, answer: Mapping[str, Any]) -> None:
    store.run("answer_key", name=key.name, fingerprint=key.fingerprint, answer=json.dumps(answer))


def prune(store: Store) -> int:
    """Delete a batch of expired or excess keys; the number deleted."""
    oldest = clock.iso_micros(clock.now() - MAX_AGE)
    dropped = store.run("expire_keys", oldest=oldest, batch=_BATCH).rowcount
    return dropped + store.run("prune_keys", keep=MAX_KEYS, batch=_BATCH).rowcount

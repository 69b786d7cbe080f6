"""Receipts in SQLite: the stages of every prompt, beside the contract's rows.

Like the store's own operations: called by one thread, inside a transaction.
"""

import json
from collections.abc import Mapping, Sequence
from sqlite3 import Cursor
from typing import Any

from posthouse.queue import keys
from posthouse.queue.queue import Finished
from posthouse.queue.receipt import (
    ENDS,
    PROGRESS,
    Filter,
    Key,
    KeyReused,
    Page,
    Passed,
    PastQueue,
    Receipt,
    Stage,
)
from posthouse.queue.store import Store, new_request_id, payload_of, text_of
from posthouse.support import clock, untrusted_files

#: Told of what was accepted past the queue and never came to the agent.
NEVER_STARTED = "the gateway stopped before this was given to the agent"
#: Told of what was being given to the agent when the gateway went away.
DIED_GIVING = "the gateway stopped while this was given to the agent; it may have reached it"
#: Receipts that one look through the history takes; a page that is not full by then says where to go on.
_LOOKED_AT = 500
#: Of the newest so many, those without an end are looked after again when a gateway starts.
_FOLLOWED = 1000
_ORDER = (*PROGRESS, "unknown", *ENDS)
#: Of what is kept with a stage. Answers can't be encoded beyond some depth.
_DETAILS: Mapping[str, type | tuple[type, ...]] = {
    "evidence": dict,
    "error": str,
    "answer": str,
    "answer_is_cut": bool,
    "usage": dict,
    "cost_usd": (int, float),
}
_MAX_DEPTH = 100


def accept(store: Store, prompt: PastQueue, key: Key | None) -> str:
    """Begin a receipt; its request id."""
    moment = clock.now()
    request_id = new_request_id(moment)
    if key is not None:
        if keys.first_answer(store, key) is not None:
            raise KeyReused
        keys.keep(store, key, request_id, None)
    payload = json.dumps(prompt.payload, sort_keys=True, ensure_ascii=False)
    store.run("put_prompt", request_id=request_id, kind=prompt.kind, payload=payload, epoch=prompt.epoch)
    store.run("put_order", request_id=request_id, at=clock.iso_micros(moment))
    return request_id


def start(store: Store, request_id: str, turn_id: str | None) -> bool:
    if not _is_open(store, request_id):
        return False
    store.stage(request_id, "started")
    if turn_id is not None:
        store.run("link_turn", request_id=request_id, turn_id=turn_id)
    return True


def cancel(store: Store, request_id: str) -> bool:
    has_started = any(row[1] == "started" for row in store.run("stages_of", request_id=request_id))
    if has_started or not _is_open(store, request_id):
        return False
    store.stage(request_id, "cancelled")
    store.run("finish_order", request_id=request_id)
    return True


def _is_open(store: Store, request_id: str) -> bool:
    found = store.run("is_open", request_id=request_id).fetchone()
    return found is not None and bool(found[0])


def put_back(store: Store, request_id: str) -> None:
    store.run("unstart", request_id=request_id)
    store.run("unlink_turn", request_id=request_id)


def record(store: Store, passed: Sequence[Passed]) -> None:
    for one in passed:
        stage = one.stage
        store.stage(one.request_id, stage.name, at_utc=stage.at_utc, detail=stage.detail)
        # A queued request's row, and with it its turn, is closed by whoever carries it out.
        if stage.name in ENDS and store.run("close_prompt", request_id=one.request_id).rowcount:
            store.run("end_turn", request_id=one.request_id, outcome=stage.name, now=stage.at_utc)


def recover(store: Store) -> list[Finished]:
    """End the receipts of prompts past the queue that the last process left; how they ended."""
    left = [(row[0], bool(row[1])) for row in store.run("open_prompts")]
    ended = []
    for request_id, was_started in left:
        error = DIED_GIVING if was_started else NEVER_STARTED
        store.stage(request_id, "unknown" if was_started else "failed", detail={"error": error})
        store.run("finish_order", request_id=request_id)
        ended.append(Finished(request_id=request_id, state="failed", error=error))
    return ended


def read(store: Store, request_id: str) -> Receipt | None:
    row = store.run("receipt", request_id=request_id).fetchone()
    if row is None:
        return None
    return _receipt(row, [found[1:] for found in store.run("stages_of", request_id=request_id)])


def page(store: Store, wanted: Filter) -> Page:
    """The newest receipts that fit, out of the next few hundred."""
    before = wanted.before if wanted.before is not None else (1 << 62)
    rows = store.run("receipts", before=before, batch=_LOOKED_AT).fetchall()
    stages = _by_request(store.run("stages_below", before=before, batch=_LOOKED_AT))
    found: list[Receipt] = []
    for row in rows:
        receipt = _receipt(row, stages.get(row[1], []))
        if _fits(receipt, wanted):
            found.append(receipt)
        if len(found) == wanted.limit:
            return Page(receipts=found, next_before=receipt.sequence)
    return Page(receipts=found, next_before=rows[-1][0] if len(rows) == _LOOKED_AT else None)


def unended(store: Store) -> list[Receipt]:
    """Prompts that the agent was given and whose end was never seen, oldest first."""
    ids = [row[0] for row in store.run("unended", batch=_FOLLOWED)]
    return [receipt for receipt in (read(store, one) for one in ids) if receipt is not None]


def _fits(receipt: Receipt, wanted: Filter) -> bool:
    if wanted.state not in (None, receipt.state) or wanted.kind not in (None, receipt.kind):
        return False
    return wanted.since_utc is None or receipt.accepted_at_utc >= wanted.since_utc


def _by_request(rows: Cursor) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for request_id, *stage in rows:
        found.setdefault(request_id, []).append(tuple(stage))
    return found


def _receipt(row: tuple[Any, ...], stages: Sequence[tuple[Any, ...]]) -> Receipt:
    sequence, request_id, kind, payload, epoch, accepted_at, state, error, turn_id = row
    accepted = Stage(name="accepted", at_utc=accepted_at)
    known = [stage for stage in stages if _is_stage(*stage)]
    passed = tuple(
        Stage(name=name, at_utc=at_utc, detail=_detail(detail))
        # By what comes after what: a clock may have jumped in between.
        for name, at_utc, detail in sorted(known, key=lambda stage: _ORDER.index(stage[0]))
    )
    return Receipt(
        sequence=sequence,
        request_id=request_id,
        kind=text_of(kind),
        payload=payload_of(payload)[0],
        epoch=epoch if isinstance(epoch, int) and epoch >= 0 else 0,
        accepted_at_utc=accepted_at,
        row_state=state,
        error=error,
        turn_id=turn_id,
        stages=(accepted, *passed),
    )


def _is_stage(name: object, at_utc: object, _: object) -> bool:
    """Whether it is a stage of ours: another program may have written the row, which hides no other."""
    try:
        return name in _ORDER and isinstance(at_utc, str) and clock.parse(at_utc) is not None
    except ValueError:
        return False


def _detail(text: str | bytes) -> Mapping[str, Any]:
    """What is known of a stage, without what is not of its type."""
    try:
        read = untrusted_files.decode_json(text, max_depth=_MAX_DEPTH)
    except (ValueError, TypeError):
        return {}
    if not isinstance(read, dict):
        return {}
    return {name: value for name, value in read.items() if isinstance(value, _DETAILS.get(name, object))}

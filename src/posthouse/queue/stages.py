"""Receipts in SQLite: the stages of every prompt, in addition to the contract's rows.

Called by one thread, inside a transaction.
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
    DirectPrompt,
    IdempotencyKey,
    Receipt,
    ReceiptFilter,
    ReceiptList,
    ReceiptStage,
    StageReached,
    key_reused,
)
from posthouse.queue.store import Store, new_request_id, payload_of, text_of
from posthouse.support import clock, untrusted_files

#: Error of a direct prompt that was accepted but not started.
NEVER_STARTED = "the gateway stopped before this was given to the agent"
#: Error of a direct prompt whose delivery had begun when the gateway stopped.
DIED_STARTED = "the gateway stopped while this was given to the agent; it may have reached it"
#: Receipts read per page query. A page that is not full by then still has a cursor.
_LOOKED_AT = 500
#: When a gateway starts, it follows prompts without an end among this many newest receipts.
_FOLLOWED = 1000
_ORDER = (*PROGRESS, "unknown", *ENDS)
#: Expected types of a stage's details.
_DETAILS: Mapping[str, type | tuple[type, ...]] = {
    "evidence": dict,
    "error": str,
    "answer": str,
    "answer_is_cut": bool,
    "usage": dict,
    "cost_usd": (int, float),
}
_MAX_DEPTH = 100


def accept(store: Store, prompt: DirectPrompt, key: IdempotencyKey | None) -> str:
    """Create a receipt; its request id."""
    moment = clock.now()
    request_id = new_request_id(moment)
    if key is not None:
        if keys.stored_response(store, key) is not None:
            raise key_reused()
        keys.store_key(store, key, request_id, None)
    payload = json.dumps(prompt.payload, sort_keys=True, ensure_ascii=False)
    store.run("put_prompt", request_id=request_id, kind=prompt.kind, payload=payload, epoch=prompt.epoch)
    store.run("put_order", request_id=request_id, at=clock.iso_micros(moment))
    return request_id


def start(store: Store, request_id: str, turn_id: str | None) -> bool:
    if not _is_open(store, request_id):
        return False
    store.record_stage(request_id, "started")
    if turn_id is not None:
        store.run("link_turn", request_id=request_id, turn_id=turn_id)
    return True


def cancel(store: Store, request_id: str) -> bool:
    has_started = any(row[1] == "started" for row in store.run("stages_of", request_id=request_id))
    if has_started or not _is_open(store, request_id):
        return False
    store.record_stage(request_id, "cancelled")
    store.run("finish_order", request_id=request_id)
    return True


def _is_open(store: Store, request_id: str) -> bool:
    found = store.run("is_open", request_id=request_id).fetchone()
    return found is not None and bool(found[0])


def undo_start(store: Store, request_id: str) -> None:
    store.run("unstart", request_id=request_id)
    store.run("unlink_turn", request_id=request_id)


def record(store: Store, passed: Sequence[StageReached]) -> None:
    for one in passed:
        stage = one.stage
        store.record_stage(one.request_id, stage.name, at_utc=stage.at_utc, detail=stage.detail)
        # The executor closes the row and turn of a queued request.
        if stage.name in ENDS and store.run("close_prompt", request_id=one.request_id).rowcount:
            store.run("end_turn", request_id=one.request_id, outcome=stage.name, now=stage.at_utc)


def recover(store: Store) -> list[Finished]:
    """End the receipts of direct prompts that the last process left open."""
    left = [(row[0], bool(row[1])) for row in store.run("open_prompts")]
    ended = []
    for request_id, was_started in left:
        error = DIED_STARTED if was_started else NEVER_STARTED
        store.record_stage(request_id, "unknown" if was_started else "failed", detail={"error": error})
        store.run("finish_order", request_id=request_id)
        ended.append(Finished(request_id=request_id, state="failed", error=error))
    return ended


def read(store: Store, request_id: str) -> Receipt | None:
    row = store.run("receipt", request_id=request_id).fetchone()
    if row is None:
        return None
    return _receipt(row, [found[1:] for found in store.run("stages_of", request_id=request_id)])


def page(store: Store, wanted: ReceiptFilter) -> ReceiptList:
    """The newest matching receipts among the next few hundred."""
    before = wanted.before if wanted.before is not None else (1 << 62)
    rows = store.run("receipts", before=before, batch=_LOOKED_AT).fetchall()
    stages = _by_request(store.run("stages_below", before=before, batch=_LOOKED_AT))
    found: list[Receipt] = []
    for row in rows:
        receipt = _receipt(row, stages.get(row[1], []))
        if _fits(receipt, wanted):
            found.append(receipt)
        if len(found) == wanted.limit:
            return ReceiptList(receipts=found, next_before=receipt.sequence)
    return ReceiptList(receipts=found, next_before=rows[-1][0] if len(rows) == _LOOKED_AT else None)


def unfinished(store: Store) -> list[Receipt]:
    """Prompts that were given to the agent and have no recorded end, oldest first."""
    ids = [row[0] for row in store.run("unended", batch=_FOLLOWED)]
    return [receipt for receipt in (read(store, one) for one in ids) if receipt is not None]


def _fits(receipt: Receipt, wanted: ReceiptFilter) -> bool:
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
    accepted = ReceiptStage(name="accepted", at_utc=accepted_at)
    known = [stage for stage in stages if _is_stage(*stage)]
    passed = tuple(
        ReceiptStage(name=name, at_utc=at_utc, detail=_detail(detail))
        # Sorted by stage order, not time: the clock may have jumped.
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
    """Whether the row is a valid stage. Another program may have written it; invalid rows are skipped."""
    try:
        return name in _ORDER and isinstance(at_utc, str) and clock.parse(at_utc) is not None
    except ValueError:
        return False


def _detail(text: str | bytes) -> Mapping[str, Any]:
    """The details of a stage, without values of a wrong type."""
    try:
        read = untrusted_files.decode_json(text, max_depth=_MAX_DEPTH)
    except (ValueError, TypeError):
        return {}
    if not isinstance(read, dict):
        return {}
    return {name: value for name, value in read.items() if isinstance(value, _DETAILS.get(name, object))}

"""The queue's rows in SQLite: each operation on one connection.

Called by one thread at a time, inside a transaction that the caller begins and commits.
"""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from posthouse.queue import coalescing
from posthouse.queue.queue import (
    Accepted,
    Claim,
    Coalesced,
    Counts,
    ExecutionResult,
    Finished,
    QueuedRequest,
    QueueFull,
    Request,
)
from posthouse.queue.receipt import ENDS, StageName
from posthouse.queue.statements import named
from posthouse.support import clock, ids

#: Stops a caller in an endless loop before it fills the disk.
MAX_WAITING = 20_000
#: From the contract: a turn id becomes a folder name.
_TURN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_encode = msgspec.json.Encoder(order="sorted").encode


class Store:
    """The rows behind one connection, and how many of them are open."""

    def __init__(self, connection: sqlite3.Connection, *, max_waiting: int = MAX_WAITING) -> None:
        self._connection = connection
        self._max_waiting = max_waiting
        self.counts = Counts()

    def run(self, statement: str, **parameters: object) -> sqlite3.Cursor:
        """Execute the statement of that name."""
        return self._connection.execute(named()[statement], parameters)

    def recount(self) -> None:
        """Recompute the counts from the rows."""
        self.counts = Counts(*self.run("count").fetchone())

    def record_stage(
        self,
        request_id: str,
        name: StageName,
        *,
        at_utc: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Record that a prompt has reached a stage."""
        is_last = name in ENDS or name == "unknown"
        self.run(
            "last_stage" if is_last else "stage",
            request_id=request_id,
            stage=name,
            at=at_utc or clock.iso_micros(clock.now()),
            detail=json.dumps(detail or {}, ensure_ascii=False),
        )

    def put(self, request: Request, *, start: bool) -> Accepted:
        if not start and self.counts.accepted >= self._max_waiting:
            raise QueueFull(
                f"{self.counts.accepted} requests wait already, which is the limit; "
                "ask again when some have been carried out"
            )
        moment = clock.now()
        now = clock.iso_seconds(moment)
        request_id = new_request_id(moment)
        self.run(
            "put",
            request_id=request_id,
            kind=request.kind,
            payload=_encode(request.payload).decode(),
            state="running" if start else "accepted",
            now=now,
            started=now if start else None,
            epoch=request.epoch,
        )
        self.run("put_order", request_id=request_id, at=clock.iso_micros(moment))
        if start:
            self.record_stage(request_id, "started", at_utc=clock.iso_micros(moment))
        self._count(accepted=0 if start else 1, running=1 if start else 0)
        return Accepted(
            request_id=request_id, accepted_at_utc=now, depth=self.counts.depth, epoch=request.epoch
        )

    def next(self) -> QueuedRequest | None:
        planned = coalescing.plan(self._accepted())
        return None if planned is None else planned.effective[0]

    def claim(self, request_id: str, *, turn_id: str | None) -> Claim:
        planned = coalescing.plan(self._accepted())
        if planned is None:
            return Claim(is_taken=False)
        coalesced = self._coalesce(planned) if planned.superseded else None
        if planned.effective[0].request_id != request_id:
            return Claim(is_taken=False, coalesced=coalesced)
        self.run("claim", request_id=request_id, now=_now())
        self.record_stage(request_id, "started")
        if turn_id is not None:
            self.run("link_turn", request_id=request_id, turn_id=turn_id)
        self._count(accepted=-1, running=1)
        return Claim(is_taken=True, coalesced=coalesced)

    def release(self, request_id: str) -> bool:
        given = self.run("release", request_id=request_id).rowcount == 1
        if given:
            self.run("unlink_turn", request_id=request_id)
            self.run("unstart", request_id=request_id)
            self._count(accepted=1, running=-1)
        return given

    def finish(self, request_id: str, result: ExecutionResult) -> Finished | None:
        running = self.run("kind_of_running", request_id=request_id).fetchone()
        if running is None:
            return None
        now = _now()
        kept = {"completed_at_utc": now, "request_kind": running[0]} if result.state == "completed" else None
        self.run(
            "finish",
            request_id=request_id,
            state=result.state,
            now=now,
            error=result.error,
            result=None if kept is None else json.dumps(kept),
        )
        self.run("finish_order", request_id=request_id)
        if result.ends_as is not None:
            self.record_stage(request_id, result.ends_as)
        if not result.turn_goes_on:
            self.run("end_turn", request_id=request_id, outcome=result.state, now=now)
        self._count(running=-1)
        return Finished(
            request_id=request_id,
            state=result.state,
            error=result.error,
            result=kept,
            ends_as=result.ends_as,
        )

    def refuse(
        self, request_id: str, error: str, *, ends_as: Literal["failed", "cancelled"] = "failed"
    ) -> Finished | None:
        if self.run("state_of", request_id=request_id).fetchone() != ("accepted",):
            return None
        self._count(accepted=-1)
        return self.fail(request_id, error, ends_as=ends_as)

    def fail(
        self, request_id: str, error: str, *, ends_as: Literal["failed", "cancelled", "unknown"] = "failed"
    ) -> Finished:
        """Fail an open request that is not being executed. The caller updates the counts."""
        self.record_stage(request_id, ends_as)
        self.run("fail", request_id=request_id, now=_now(), error=error)
        self.run("finish_order", request_id=request_id)
        return Finished(request_id=request_id, state="failed", error=error, ends_as=ends_as)

    def _accepted(self) -> Iterator[QueuedRequest]:
        """Accepted requests, oldest first, read lazily."""
        cursor = self.run("accepted")
        try:
            for sequence, request_id, kind, payload, state, epoch, carrier in cursor:
                read, defect = payload_of(payload)
                if not _is_epoch(epoch) or not _is_epoch(carrier):
                    # Epoch 0 belongs to no instance, so the row fails without waiting for one.
                    epoch = carrier = 0
                    defect = "managed_agent_instance_epoch is not the number of an agent instance"
                yield QueuedRequest(
                    sequence=sequence,
                    request_id=request_id,
                    kind=text_of(kind),
                    payload=read,
                    state=state,
                    epoch=epoch,
                    carrier=carrier,
                    defect=defect,
                )
        finally:
            cursor.close()

    def _coalesce(self, planned: coalescing.CoalescingPlan) -> Coalesced:
        now = _now()
        actions = tuple(str(coalescing.action_of(row)) for row in planned.effective)
        for one in planned.superseded:
            result = {
                "coalesced_at_utc": now,
                "coalesced_into_request_id": one.by.request_id,
                "coalesced_reason": coalescing.REASON,
                "effective_actions": actions,
                "original_action": coalescing.action_of(one.row),
            }
            encoded = json.dumps(result, sort_keys=True)
            self.run("coalesce", request_id=one.row.request_id, now=now, result=encoded)
            self.run("finish_order", request_id=one.row.request_id)
            self.record_stage(
                one.row.request_id, "coalesced", detail={"evidence": {"into": one.by.request_id}}
            )
        self._count(accepted=-len(planned.superseded))
        return Coalesced(
            coalesced_at_utc=now,
            request_ids=tuple(one.row.request_id for one in planned.superseded),
            effective_request_ids=tuple(sorted(row.request_id for row in planned.effective)),
            effective_actions=actions,
            next_request_id=planned.effective[0].request_id,
        )

    def _count(self, *, accepted: int = 0, running: int = 0) -> None:
        self.counts = Counts(self.counts.accepted + accepted, self.counts.running + running)


def text_of(content: bytes) -> str:
    """Text of a column that another program may have written; invalid bytes are replaced."""
    return content.decode(errors="replace")


def payload_of(text: str | bytes) -> tuple[Mapping[str, Any], str | None]:
    """The payload of a row and its defect. With a defect the payload is empty."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, f"payload_json can't be parsed: {error}"
    if not isinstance(read, dict):
        return {}, "payload_json is not an object"
    defect = _defect_of(read)
    return (read, None) if defect is None else ({}, defect)


def _defect_of(payload: Mapping[str, Any]) -> str | None:
    """Why *payload* can't be used; None when it can."""
    turn_id, prompt = payload.get("turn_id"), payload.get("prompt")
    if turn_id is not None and not (isinstance(turn_id, str) and _TURN_ID.fullmatch(turn_id)):
        return "payload_json has an invalid turn_id"
    try:
        if isinstance(prompt, str):
            prompt.encode()
    except UnicodeEncodeError:
        return "payload_json has a prompt that is not Unicode"
    return None


def _is_epoch(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def new_request_id(moment: datetime) -> str:
    return f"gwreq-{clock.compact(moment)}-{ids.hex_id(8)}"


def _now() -> str:
    return clock.iso_seconds(clock.now())

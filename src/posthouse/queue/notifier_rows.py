"""`NotifierStore` on SQLite: each call is a job of the queue's writer thread."""

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta

from posthouse.queue.notifier import NotifierHistory, Poll, Settings, WakeRecord, WakeRule
from posthouse.queue.queue import Accepted, Request
from posthouse.queue.store import Store
from posthouse.queue.writer import Writer
from posthouse.support import clock

#: Wake records older than this are deleted.
_REMEMBERED = timedelta(days=90)


class SqliteNotifierStore:
    """A `NotifierBook` in the queue's file."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def load(self) -> tuple[Settings, NotifierHistory]:
        return await self._writer.do(_load)

    async def save_settings(self, settings: Settings) -> None:
        await self._writer.do(lambda store: _keep(store, settings))

    async def disable(self) -> None:
        await self._writer.do(lambda store: _run(store, "disable_notifier", now=_now()))

    async def record_poll(self, poll: Poll, request: Request | None = None) -> Accepted | None:
        return await self._writer.do(lambda store: _record(store, poll, request))

    async def record_compacted(self, refs: Sequence[str]) -> None:
        await self._writer.do(lambda store: _run(store, "compacted", refs=json.dumps(list(refs))))

    async def wake_rule(self) -> WakeRule:
        return await self._writer.do(_rule)

    async def save_wake_rule(self, rule: WakeRule) -> None:
        await self._writer.do(
            lambda store: _run(
                store,
                "keep_wake_settings",
                wake=rule.wake,
                backoff_max_seconds=rule.backoff_max_seconds,
                operator_note_after=rule.operator_note_after,
            )
        )

    async def wake_records(self, refs: Iterable[str]) -> dict[str, WakeRecord]:
        asked = list(refs)
        return await self._writer.do(lambda store: _wakes(store, asked))

    async def record_operator_notes(self, refs: Iterable[str]) -> None:
        asked = list(refs)
        await self._writer.do(lambda store: _noted(store, asked))


def _load(store: Store) -> tuple[Settings, NotifierHistory]:
    row = store.run("notifier").fetchone()
    settings = Settings(
        enabled=bool(row[0]),
        interval_seconds=row[1],
        mode=row[2],
        appendix_text=row[3],
        context_error_policy=row[4],
        pre_notification_context_action=row[5],
        notify_block_render=row[6],
        notify_block_auth_mode=row[7],
        notify_block_auth_verifier=row[8],
        notify_block_shared_tokens=tuple(json.loads(row[9])),
        notify_block_per_message_chars=row[10],
        notify_block_total_chars=row[11],
    )
    past = NotifierHistory(
        last_poll_at_utc=row[12],
        last_notification_at_utc=row[13],
        last_notified_digest=row[14],
        compacted_refs=tuple(json.loads(row[15])),
        last_error=row[16],
        updated_at_utc=row[17],
    )
    return settings, past


def _keep(store: Store, settings: Settings) -> None:
    store.run(
        "keep_notifier",
        enabled=int(settings.enabled),
        interval_seconds=settings.interval_seconds,
        mode=settings.mode,
        appendix_text=settings.appendix_text,
        context_error_policy=settings.context_error_policy,
        pre_notification_context_action=settings.pre_notification_context_action,
        notify_block_render=settings.notify_block_render,
        notify_block_auth_mode=settings.notify_block_auth_mode,
        notify_block_auth_verifier=settings.notify_block_auth_verifier,
        notify_block_shared_tokens_json=json.dumps(settings.notify_block_shared_tokens),
        notify_block_per_message_chars=settings.notify_block_per_message_chars,
        notify_block_total_chars=settings.notify_block_total_chars,
        now=_now(),
    )


def _record(store: Store, poll: Poll, request: Request | None) -> Accepted | None:
    now = _now()
    accepted = None if request is None else store.put(request, start=False)
    store.run(
        "audit",
        now=now,
        unread_count=None if poll.eligible is None else len(poll.eligible),
        unread_digest=poll.digest,
        unread_summary_json=json.dumps(poll.eligible or [], ensure_ascii=False, sort_keys=True),
        request_admission=poll.request_admission,
        active_execution=poll.active_execution,
        queue_depth=poll.queue_depth,
        outcome=poll.outcome,
        enqueued_request_id=None if accepted is None else accepted.request_id,
        detail=poll.detail,
        context_error_policy=poll.settings.context_error_policy,
        pre_notification_context_action=poll.settings.pre_notification_context_action,
        context_action_outcome=poll.context_action_outcome,
        degraded_tool_name=poll.degraded_tool_name,
        degraded_error_type=poll.degraded_error_type,
        rendered_block_entries_json=json.dumps(list(poll.blocks), ensure_ascii=False, sort_keys=True),
    )
    store.run("polled", now=now, error=poll.error)
    if accepted is not None:
        _notified(store, poll, now)
    return accepted


def _notified(store: Store, poll: Poll, now: str) -> None:
    store.run("notified", now=now, digest=poll.digest)
    store.run("forget_wakes", before=clock.iso_seconds(clock.now() - _REMEMBERED))
    for ref in poll.refs:
        store.run("woken", message_ref=ref, now=now)


def _noted(store: Store, refs: Sequence[str]) -> None:
    for ref in refs:
        store.run("noted", message_ref=ref)


def _run(store: Store, statement: str, **parameters: object) -> None:
    store.run(statement, **parameters)


def _rule(store: Store) -> WakeRule:
    row = store.run("wake_settings").fetchone()
    if row is None:
        return WakeRule()
    return WakeRule(wake=row[0], backoff_max_seconds=row[1], operator_note_after=row[2])


def _wakes(store: Store, refs: Sequence[str]) -> dict[str, WakeRecord]:
    found = (store.run("wakes_of", message_ref=ref).fetchone() for ref in refs)
    return {
        row[0]: WakeRecord(
            message_ref=row[0],
            first_at_utc=row[1],
            last_at_utc=row[2],
            count=row[3],
            is_noted=bool(row[4]),
        )
        for row in found
        if row is not None
    }


def _now() -> str:
    return clock.iso_seconds(clock.now())

"""What the queue's file keeps of the notifier."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from posthouse.queue import Poll, Queue, Request, Settings, WakeRule, open_queue

_POLL = Poll(
    outcome="enqueued",
    settings=Settings(),
    request_admission="open",
    active_execution="idle",
    queue_depth=0,
    eligible=({"message_ref": "m"},),
    digest="d",
    refs=("m",),
)


def _run(folder: Path, work: Callable[[Queue], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        queue = await open_queue(folder / "queue.sqlite")
        try:
            return await work(queue)
        finally:
            await queue.close()

    return asyncio.run(run())


def test_settings_are_there_from_the_first_moment_and_stay(tmp_path: Path) -> None:
    """A new file has the defaults; what is kept is read again by the next process, and disabling keeps it."""
    kept = Settings(
        enabled=True,
        interval_seconds=60,
        mode="unread_only",
        appendix_text="more",
        notify_block_shared_tokens=("a", "b"),
    )

    async def first(queue: Queue) -> Settings:
        settings, _ = await queue.notifier.load()
        await queue.notifier.save_settings(kept)
        return settings

    async def second(queue: Queue) -> tuple[Settings, Settings]:
        before, _ = await queue.notifier.load()
        await queue.notifier.disable()
        after, _ = await queue.notifier.load()
        return before, after

    assert _run(tmp_path, first) == Settings()
    assert _run(tmp_path, second) == (kept, replace(kept, enabled=False, interval_seconds=None))


def test_a_wake_up_and_its_row_are_one(tmp_path: Path) -> None:
    """An enqueued poll accepts its request, counts its messages, and is what the notifier did last."""

    async def work(queue: Queue) -> Any:
        request = Request(kind="mail_notifier_prompt", payload={"prompt": "mail"}, epoch=1)
        accepted = [await queue.notifier.record_poll(_POLL, request) for _ in range(2)]
        _, past = await queue.notifier.load()
        wakes = await queue.notifier.wake_records(("m", "other"))
        row = await queue.next()
        return accepted, past, wakes, row

    accepted, past, wakes, row = _run(tmp_path, work)

    assert [one.depth for one in accepted] == [1, 2]
    assert (row.request_id, row.kind) == (accepted[0].request_id, "mail_notifier_prompt")
    assert (past.last_notified_digest, past.last_error) == ("d", None)
    assert [(ref, one.count, one.is_noted) for ref, one in wakes.items()] == [("m", 2, False)]


def test_a_poll_without_a_request_only_leaves_its_row(tmp_path: Path) -> None:
    """A poll that woke nobody is the last poll, with its error, and no notification."""

    async def work(queue: Queue) -> Any:
        poll = replace(_POLL, outcome="poll_error", error="the disk is full")
        accepted = await queue.notifier.record_poll(poll)
        _, past = await queue.notifier.load()
        return accepted, past.last_error, past.last_notification_at_utc, await queue.next()

    assert _run(tmp_path, work) == (None, "the disk is full", None, None)


def test_our_own_settings_and_what_the_operator_was_told(tmp_path: Path) -> None:
    """The wake rule and the notes to the operator are kept."""

    async def work(queue: Queue) -> Any:
        rules = [await queue.notifier.wake_rule()]
        await queue.notifier.save_wake_rule(WakeRule(wake="immediate", backoff_max_seconds=5))
        rules.append(await queue.notifier.wake_rule())
        await queue.notifier.record_poll(_POLL, Request(kind="mail_notifier_prompt", payload={}, epoch=1))
        await queue.notifier.record_operator_notes(("m",))
        return rules, (await queue.notifier.wake_records(("m",)))["m"].is_noted

    assert _run(tmp_path, work) == ([WakeRule(), WakeRule(wake="immediate", backoff_max_seconds=5)], True)

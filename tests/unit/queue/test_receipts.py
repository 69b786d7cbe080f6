"""Receipts on disk: what is kept of every prompt, through restarts and pruning."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from posthouse.errors import InvalidInput
from posthouse.queue import (
    DirectPrompt,
    ExecutionResult,
    IdempotencyKey,
    Queue,
    Receipt,
    ReceiptStage,
    Request,
    RetentionLimits,
    StageName,
    StageReached,
    open_queue,
)
from posthouse.queue.stages import DIED_STARTED, NEVER_STARTED
from posthouse.support import clock

Opener = Callable[[], AbstractAsyncContextManager[Queue]]
DIRECT = DirectPrompt(kind="control_prompt", payload={"prompt": "hello"}, epoch=1)
QUEUED = Request(kind="submit_prompt", payload={"prompt": "hello"}, epoch=1)


@pytest.fixture
def opened(tmp_path: Path) -> Opener:
    """Opens the same queue again each time, as a restarted gateway does."""

    @asynccontextmanager
    async def opener() -> AsyncIterator[Queue]:
        queue = await open_queue(
            tmp_path / "queue.sqlite", limits=RetentionLimits(max_finished=2, min_finished=1)
        )
        try:
            yield queue
        finally:
            await queue.close()

    return opener


def run(opened: Opener, *stories: Callable[[Queue], Awaitable[None]]) -> None:
    """Tell each story to the same queue, with a restart in between."""

    async def told() -> None:
        for story in stories:
            async with opened() as queue:
                await story(queue)

    asyncio.run(told())


async def pass_(queue: Queue, request_id: str, *names: StageName) -> None:
    at = clock.iso_micros(clock.now())
    await queue.receipts.record(
        [StageReached(request_id=request_id, stage=ReceiptStage(name=name, at_utc=at)) for name in names]
    )


async def read(queue: Queue, request_id: str) -> Receipt:
    receipt = await queue.receipts.read(request_id)
    assert receipt is not None
    return receipt


def names(receipt: Receipt) -> list[StageName]:
    return [stage.name for stage in receipt.stages]


def test_an_end_is_final_and_unknown_is_not(opened: Opener) -> None:
    """What is proved later is believed; nothing comes after a proof."""

    async def story(queue: Queue) -> None:
        request_id = await queue.receipts.accept(DIRECT)
        await queue.receipts.start(request_id)
        await pass_(queue, request_id, "unknown")
        uncertain = (await read(queue, request_id)).state
        await pass_(queue, request_id, "completed", "failed", "unknown", "interrupted")
        receipt = await read(queue, request_id)

        assert uncertain == "unknown"
        assert (receipt.state, names(receipt)) == (
            "completed",
            ["accepted", "started", "unknown", "completed"],
        )

    run(opened, story)


def test_what_died_before_it_started_failed_and_what_died_after_is_unknown(opened: Opener) -> None:
    """A prompt past the queue that was being given away may be with the agent: nobody claims otherwise."""
    made: list[str] = []

    async def die(queue: Queue) -> None:
        made.extend([await queue.receipts.accept(DIRECT) for _ in range(2)])
        await queue.receipts.start(made[1], turn_id="turn-1")

    async def live(queue: Queue) -> None:
        waited, given = [await read(queue, one) for one in made]

        assert (waited.state, waited.end and waited.end.detail) == ("failed", {"error": NEVER_STARTED})
        unknown = given.stage("unknown")
        assert (given.state, unknown and unknown.detail) == ("unknown", {"error": DIED_STARTED})
        assert [(one.request_id, one.turn_id) for one in await queue.unfinished_turns()] == [
            (made[1], "turn-1")
        ]

    run(opened, die, live)


def test_a_queued_request_that_ran_is_unknown_after_a_restart(opened: Opener) -> None:
    """The contract's row is failed; the receipt says that nobody knows."""
    made: list[str] = []

    async def die(queue: Queue) -> None:
        made.append((await queue.put(QUEUED)).request_id)
        await queue.claim(made[0])
        await pass_(queue, made[0], "typed")

    async def live(queue: Queue) -> None:
        receipt = await read(queue, made[0])
        unended = await queue.receipts.unfinished()

        assert (receipt.row_state, receipt.state) == ("failed", "unknown")
        assert names(receipt) == ["accepted", "started", "typed", "unknown"]
        assert [one.request_id for one in unended] == made

    run(opened, die, live)


def test_a_tuis_completed_row_leaves_its_receipt_open(opened: Opener) -> None:
    """Submitted is not done: the end comes from the agent, and is looked for again after a restart."""
    made: list[str] = []

    async def submit(queue: Queue) -> None:
        made.append((await queue.put(QUEUED)).request_id)
        await queue.claim(made[0])
        await queue.finish(made[0], ExecutionResult(state="completed"))

    async def later(queue: Queue) -> None:
        receipt = await read(queue, made[0])

        assert (receipt.row_state, receipt.state) == ("completed", "running")
        assert [one.request_id for one in await queue.receipts.unfinished()] == made

    run(opened, submit, later)


def test_one_that_was_taken_back_does_not_start(opened: Opener) -> None:
    """Whoever comes second, starting or cancelling, is told so."""

    async def story(queue: Queue) -> None:
        gone, given = [await queue.receipts.accept(DIRECT) for _ in range(2)]

        assert (await queue.receipts.cancel(gone), await queue.receipts.start(gone)) == (True, False)
        assert (await queue.receipts.start(given), await queue.receipts.cancel(given)) == (True, False)

    run(opened, story)


def test_receipts_go_with_their_requests(opened: Opener, tmp_path: Path) -> None:
    """Beyond the limits nothing of a prompt is left in any table, however it came."""

    async def story(queue: Queue) -> None:
        made = [await queue.receipts.accept(DIRECT) for _ in range(3)]
        for request_id in made:
            await pass_(queue, request_id, "completed")
        while await queue.prune():
            pass

        assert await queue.receipts.read(made[0]) is None
        assert (await read(queue, made[1])).state == "completed"

    run(opened, story)

    with sqlite3.connect(tmp_path / "queue.sqlite") as connection:
        counts = [
            connection.execute(f"SELECT count(DISTINCT request_id) FROM {table}").fetchone()[0]
            for table in ("posthouse_requests", "posthouse_prompts", "posthouse_stages")
        ]
    assert counts == [2, 2, 2]


def test_a_key_stands_for_one_request_for_a_day(opened: Opener, tmp_path: Path) -> None:
    """The first answer comes again, also after a restart; another request is refused; then it is new."""
    key, other = IdempotencyKey(name="k", fingerprint="one"), IdempotencyKey(name="k", fingerprint="two")
    first: list[str] = []

    async def before(queue: Queue) -> None:
        accepted = await queue.put(QUEUED, key=key)
        first.append(accepted.request_id)

    async def after(queue: Queue) -> None:
        again = await queue.put(QUEUED, key=key)

        assert (again.request_id, again.is_repeat, again.depth) == (first[0], True, 1)
        with pytest.raises(InvalidInput, match="used for another request"):
            await queue.put(QUEUED, key=other)
        with pytest.raises(InvalidInput, match="used for another request"):
            await queue.receipts.accept(DIRECT, key=key)
        assert queue.counts.accepted == 1

    async def next_day(queue: Queue) -> None:
        yesterday = clock.iso_micros(clock.now() - timedelta(hours=25))
        with sqlite3.connect(tmp_path / "queue.sqlite") as connection:
            connection.execute("UPDATE posthouse_keys SET made_at_utc = ?", (yesterday,))
        connection.close()
        fresh = await queue.put(QUEUED, key=other)
        assert (fresh.is_repeat, fresh.request_id != first[0]) == (False, True)

    run(opened, before, after, next_day)

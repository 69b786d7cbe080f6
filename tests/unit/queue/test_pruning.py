"""How much of the history stays."""

import asyncio
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from posthouse.queue import ExecutionResult, Queue, Request, RetentionLimits, open_queue
from posthouse.support import clock

OLD = "2020-01-01T00:00:00+00:00"


async def finish_some(queue: Queue, count: int) -> list[str]:
    made = await asyncio.gather(
        *[
            queue.put(Request(kind="interrupt", payload={"note": "x" * 2000}, epoch=1), start=True)
            for _ in range(count)
        ]
    )
    await asyncio.gather(*[queue.finish(one.request_id, ExecutionResult(state="completed")) for one in made])
    return [one.request_id for one in made]


def rows(path: Path, table: str = "gateway_requests") -> list[str]:
    with sqlite3.connect(path) as connection:
        return [row[0] for row in connection.execute(f"SELECT request_id FROM {table} ORDER BY rowid")]


def age(path: Path, ids: list[str]) -> None:
    with sqlite3.connect(path) as connection:
        connection.executemany(
            "UPDATE gateway_requests SET finished_at_utc = ? WHERE request_id = ?",
            [(OLD, one) for one in ids],
        )


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        (RetentionLimits(max_finished=4, min_finished=1), slice(6, None)),
        (RetentionLimits(max_finished=100, min_finished=1), slice(5, None)),
        (RetentionLimits(max_finished=100, min_finished=8), slice(2, None)),
        (RetentionLimits(max_finished=100, min_finished=1, max_age=timedelta(days=36500)), slice(0, None)),
    ],
    ids=["by count", "by age", "whatever its age, when it is among the newest", "within both"],
)
def test_finished_requests_go_by_count_and_age(tmp_path: Path, limits: RetentionLimits, kept: slice) -> None:
    """Of ten finished requests, five of them old, those within the limits stay, in both our tables."""
    path = tmp_path / "queue.sqlite"

    async def story() -> list[str]:
        queue = await open_queue(path, limits=limits)
        made = await finish_some(queue, 10)
        age(path, made[:5])
        while await queue.prune():
            pass
        await queue.close()
        return made

    made = asyncio.run(story())

    assert rows(path) == made[kept]
    assert rows(path, "posthouse_requests") == made[kept]


def test_what_waits_or_runs_is_never_pruned(tmp_path: Path) -> None:
    """However old it is and however many came after it."""
    path = tmp_path / "queue.sqlite"

    async def story() -> list[str]:
        queue = await open_queue(path, limits=RetentionLimits(max_finished=1, min_finished=1))
        waiting = await queue.put(Request(kind="submit_prompt", payload={}, epoch=1))
        running = await queue.put(Request(kind="submit_prompt", payload={}, epoch=1), start=True)
        made = await finish_some(queue, 5)
        while await queue.prune():
            pass
        await queue.close()
        return [waiting.request_id, running.request_id, made[-1]]

    assert asyncio.run(story()) == rows(path)


def test_pruning_goes_in_small_steps_and_the_file_shrinks(tmp_path: Path) -> None:
    """No step takes long, and what is dropped is given back without a VACUUM."""
    path = tmp_path / "queue.sqlite"
    steps: list[int] = []

    async def story() -> int:
        queue = await open_queue(path, limits=RetentionLimits(max_finished=1, min_finished=1))
        await finish_some(queue, 500)
        while dropped := await queue.prune():
            steps.append(dropped)
        await queue.close()
        return path.stat().st_size

    size = asyncio.run(story())

    assert steps == [200, 200, 99]
    assert size < 500 * 2000 / 4


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        (RetentionLimits(max_audit=3, min_audit=1), 3),
        (RetentionLimits(max_audit=100, min_audit=1), 5),
        (RetentionLimits(max_audit=100, min_audit=8), 8),
        (RetentionLimits(max_audit=100, min_audit=1, max_age=timedelta(days=36500)), 10),
    ],
    ids=["by count", "by age", "whatever its age, when it is among the newest", "within both"],
)
def test_the_notifiers_audit_goes_by_count_and_age(
    tmp_path: Path, limits: RetentionLimits, kept: int
) -> None:
    """Of ten rows, the first five old, the newest within the limits stay."""
    path = tmp_path / "queue.sqlite"

    async def story() -> None:
        queue = await open_queue(path, limits=limits)
        young = clock.iso_seconds(clock.now())
        with sqlite3.connect(path) as connection:
            connection.executemany(
                "INSERT INTO gateway_notifier_audit (poll_time_utc, outcome) VALUES (?, 'empty')",
                [(OLD if number < 5 else young,) for number in range(10)],
            )
        while await queue.prune():
            pass
        await queue.close()

    asyncio.run(story())

    with sqlite3.connect(path) as connection:
        left = connection.execute("SELECT audit_id FROM gateway_notifier_audit").fetchall()
    assert left == [(number,) for number in range(11 - kept, 11)]

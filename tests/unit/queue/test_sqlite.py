"""What lies in `queue.sqlite`, for others to read."""

import asyncio
import json
import sqlite3
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from posthouse.queue import (
    DIED_RUNNING,
    Counts,
    ExecutionResult,
    Queue,
    QueueUnavailable,
    Request,
    open_queue,
)
from posthouse.queue.statements import named

COLUMNS = {
    "gateway_requests": """
        request_id request_kind payload_json state accepted_at_utc started_at_utc finished_at_utc
        managed_agent_instance_epoch error_detail result_json""",
    "gateway_mail_notifier": """
        singleton enabled interval_seconds mode appendix_text context_error_policy
        pre_notification_context_action last_poll_at_utc last_notification_at_utc last_notified_digest
        compacted_eligible_message_refs_json last_error notify_block_render notify_block_auth_mode
        notify_block_auth_verifier notify_block_shared_tokens_json notify_block_per_message_chars
        notify_block_total_chars updated_at_utc""",
    "gateway_notifier_audit": """
        audit_id poll_time_utc unread_count unread_digest unread_summary_json request_admission
        active_execution queue_depth outcome enqueued_request_id detail context_error_policy
        pre_notification_context_action context_action_outcome degraded_tool_name degraded_error_type
        rendered_block_entries_json""",
}


def run(path: Path, story: Callable[[Queue], Awaitable[None]]) -> None:
    async def told() -> None:
        queue = await open_queue(path)
        try:
            await story(queue)
        finally:
            await queue.close()

    asyncio.run(told())


async def nothing(queue: Queue) -> None:
    """Open and close."""


def rows(path: Path, columns: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as connection:
        return connection.execute(f"SELECT {columns} FROM gateway_requests ORDER BY rowid").fetchall()


def columns_of(path: Path, table: str) -> list[str]:
    with sqlite3.connect(path) as connection:
        return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def test_the_contracts_tables_have_exactly_its_columns(tmp_path: Path) -> None:
    """A reader of the contract finds what it expects and nothing else."""
    path = tmp_path / "queue.sqlite"

    run(path, nothing)

    assert {table: columns_of(path, table) for table in COLUMNS} == {
        table: columns.split() for table, columns in COLUMNS.items()
    }
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT singleton, enabled FROM gateway_mail_notifier").fetchall() == [
            (1, 0)
        ]


def test_the_file_is_the_owners_alone_and_durable(tmp_path: Path) -> None:
    """Prompts are private, and the journal is a write-ahead log."""
    path = tmp_path / "queue.sqlite"

    run(path, nothing)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_row_tells_its_story(tmp_path: Path) -> None:
    """Payload, states and results lie in the row as the contract lays them out."""
    path = tmp_path / "queue.sqlite"

    async def story(queue: Queue) -> None:
        payload = {"prompt": "hëllo", "turn_id": None}
        accepted = [
            await queue.put(Request(kind="submit_prompt", payload=payload, epoch=3)) for _ in range(3)
        ]
        for one, result in zip(
            accepted,
            (ExecutionResult(state="completed"), ExecutionResult(state="failed", error="agent said no")),
            strict=False,
        ):
            await queue.claim(one.request_id)
            await queue.finish(one.request_id, result)

    run(path, story)

    told = rows(path, "payload_json, state, managed_agent_instance_epoch, error_detail, result_json IS NULL")
    payload = '{"prompt":"hëllo","turn_id":null}'
    assert told == [
        (payload, "completed", 3, None, 0),
        (payload, "failed", 3, "agent said no", 1),
        (payload, "accepted", 3, None, 1),
    ]
    result = json.loads(str(rows(path, "result_json")[0][0]))
    assert result["request_kind"] == "submit_prompt"
    assert result.keys() == {"request_kind", "completed_at_utc"}


def test_a_restart_explains_what_it_failed(tmp_path: Path) -> None:
    """A request that ran when the process died has its reason and its end."""
    path = tmp_path / "queue.sqlite"

    async def dies_running(queue: Queue) -> None:
        accepted = await queue.put(Request(kind="submit_prompt", payload={}, epoch=1))
        await queue.claim(accepted.request_id)

    run(path, dies_running)
    run(path, nothing)

    assert rows(path, "state, error_detail, finished_at_utc IS NULL") == [("failed", DIED_RUNNING, 0)]


def test_rows_of_another_implementation_are_adopted_in_their_order(tmp_path: Path) -> None:
    """A queue that another gateway of the contract left behind is carried on."""
    path = tmp_path / "queue.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(named()["schema"].partition("-- The order of arrival")[0])
        connection.executemany(
            "INSERT INTO gateway_requests (request_id, request_kind, payload_json, state, accepted_at_utc,"
            " managed_agent_instance_epoch) VALUES (?, 'submit_prompt', '{}', ?, ?, 1)",
            [("late", "accepted", "2026-03-13T00:00:02+00:00"),
             ("early", "accepted", "2026-03-13T00:00:01+00:00"),
             ("ran", "running", "2026-03-13T00:00:00+00:00")],
        )  # fmt: skip
    order: list[str] = []

    async def story(queue: Queue) -> None:
        assert queue.counts == Counts(accepted=2, running=0)
        while row := await queue.next():
            order.append(row.request_id)
            await queue.claim(row.request_id)

    run(path, story)

    assert order == ["early", "late"]


def test_a_refused_commit_fails_its_requests_and_the_next_ones_work(tmp_path: Path) -> None:
    """When the disk says no, nothing is half there and the queue goes on."""
    path = tmp_path / "queue.sqlite"

    async def story(queue: Queue) -> None:
        blocker = sqlite3.connect(path, isolation_level=None, timeout=0)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(QueueUnavailable):
            await queue.put(Request(kind="submit_prompt", payload={}, epoch=1))
        blocker.close()

        assert queue.counts == Counts()
        assert (await queue.put(Request(kind="submit_prompt", payload={}, epoch=1))).depth == 1

    run(path, story)

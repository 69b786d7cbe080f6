"""How long a gateway keeps its history."""

import asyncio
import logging
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from posthouse.events.journal import EVENT_RETENTION, Journal, read_events
from posthouse.gateway import retention
from posthouse.gateway.retention import Pruner
from posthouse.queue import ExecutionResult, Request, RetentionLimits, open_queue
from posthouse.support.process_log import close_log, open_log
from posthouse.support.rotation import Retention, RotatingFile


def test_events_are_read_from_all_parts_in_order(tmp_path: Path) -> None:
    """Readers see one history, whatever the number of files, and no broken line."""
    path = tmp_path / "events.jsonl"
    journal = Journal(path, Retention(max_bytes=60, backups=3))
    for number in range(6):
        journal.add("accepted", number=number)
    journal.close()
    with path.open("a") as stream:
        stream.write('{"kind": "brok')

    assert len(list(tmp_path.iterdir())) == 4
    assert [event["number"] for event in read_events(path)] == [2, 3, 4, 5]


def test_a_disk_that_refuses_loses_events_and_says_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request fails because its history can't be written."""

    def refuse(self: RotatingFile, line: bytes) -> None:
        raise OSError("no space left")

    journal, log = Journal(tmp_path / "events.jsonl"), open_log(tmp_path / "gateway.log")
    # A full disk, for these two files only.
    with monkeypatch.context() as full:
        full.setattr(RotatingFile, "write", refuse)
        for _ in range(3):
            journal.add("accepted")
            log.info("lost")
    journal.add("completed")
    log.info("written")
    journal.close()
    close_log(log)

    lost, completed = read_events(tmp_path / "events.jsonl")
    assert (lost["kind"], lost["count"], completed) == ("events_lost", 3, {"kind": "completed"})
    first, second = (tmp_path / "gateway.log").read_text().splitlines()
    assert (first, second[26:]) == ("(3 lines were lost)", "written")


def test_the_running_log_rotates(tmp_path: Path) -> None:
    """People still tail the same name."""
    path = tmp_path / "gateway.log"
    log = open_log(path, retention=Retention(max_bytes=50, backups=1))
    for number in range(5):
        log.info("line", extra={"number": number})
    close_log(log)

    assert {one.name for one in tmp_path.iterdir()} == {"gateway.log", "gateway.log.1"}
    assert path.read_text().endswith(" line number=4\n")


def test_history_is_pruned_at_the_start_and_from_time_to_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing ticks: requests themselves are the clock."""
    monkeypatch.setattr(retention, "_PRUNE_EVERY", 3)
    monkeypatch.setattr(retention, "_PAUSE_SECONDS", 0)
    started: list[int] = []

    async def story() -> None:
        queue = await open_queue(
            tmp_path / "queue.sqlite", limits=RetentionLimits(max_finished=2, min_finished=1)
        )
        tasks: list[asyncio.Task[None]] = []

        def spawn(work: Coroutine[Any, Any, None]) -> None:
            tasks.append(asyncio.create_task(work))

        pruner = Pruner(queue, logging.Logger("test"), spawn=spawn)
        pruner.start()
        pruner.start()
        assert len(tasks) == 1
        for _ in range(5):
            made = await queue.put(Request(kind="interrupt", payload={}, epoch=1), start=True)
            await queue.finish(made.request_id, ExecutionResult(state="completed"))
            pruner.count_finished()
        await asyncio.gather(*tasks)
        started.append(len(tasks))
        await queue.close()

    asyncio.run(story())

    assert started == [2]


def test_the_limits_have_room_for_what_the_queue_remembers() -> None:
    """The event log reaches at least as far back as the rows do, at three events of 300 bytes a request."""
    total = EVENT_RETENTION.max_bytes * (EVENT_RETENTION.backups + 1)

    assert total > RetentionLimits().max_finished * 3 * 300

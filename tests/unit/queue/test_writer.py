"""The one thread that writes."""

import asyncio
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from posthouse.queue import Accepted, Counts, QueueUnavailable, Request, open_queue
from posthouse.queue.open_database import open_file
from posthouse.queue.store import Store
from posthouse.queue.writer import Writer
from posthouse.support import crashpoints

REQUEST = Request(kind="submit_prompt", payload={"prompt": "x"}, epoch=1)


def put(store: Store) -> Accepted:
    return store.put(REQUEST, start=False)


def put_and_fail(store: Store) -> Accepted:
    put(store)
    raise RuntimeError("after the row was written")


def test_a_job_that_fails_takes_only_its_own_rows_with_it(tmp_path: Path) -> None:
    """What it wrote is undone; the others of its commit are kept, and the counts are right."""

    async def story() -> None:
        connection = open_file(tmp_path / "queue.sqlite")[0]
        writer = Writer(connection, Store(connection))

        outcomes = await asyncio.gather(
            writer.do(put), writer.do(put_and_fail), writer.do(put), return_exceptions=True
        )

        assert [isinstance(one, RuntimeError) for one in outcomes] == [False, True, False]
        assert writer.counts == Counts(accepted=2)
        await writer.do(Store.recount)
        assert writer.counts == Counts(accepted=2)
        await writer.close()

    asyncio.run(story())


def test_what_waits_together_is_committed_together(tmp_path: Path) -> None:
    """While one commit is under way the next requests gather, and cost one more."""
    commits: list[str] = []
    gate = threading.Event()

    def block(store: Store) -> None:
        gate.wait(10)

    async def story() -> None:
        connection = open_file(tmp_path / "queue.sqlite")[0]
        connection.set_trace_callback(lambda words: commits.append(words) if words == "COMMIT" else None)
        writer = Writer(connection, Store(connection))
        blocked = asyncio.create_task(writer.do(block))
        waiting = [asyncio.create_task(writer.do(put)) for _ in range(20)]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(blocked, *waiting)
        await writer.close()

    asyncio.run(story())

    assert len(commits) in (1, 2)


def test_an_asker_that_gave_up_does_not_disturb_the_others(tmp_path: Path) -> None:
    """What it asked for is done all the same."""

    async def story() -> None:
        connection = open_file(tmp_path / "queue.sqlite")[0]
        writer = Writer(connection, Store(connection))
        given_up = asyncio.create_task(writer.do(put))
        await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up

        assert (await writer.do(put)).depth == 2
        await writer.close()

    asyncio.run(story())


def test_a_file_that_was_removed_refuses_until_it_is_back(tmp_path: Path) -> None:
    """SQLite would go on writing to a file that nobody finds again."""
    folder, away = tmp_path / "gateway", tmp_path / "away"
    folder.mkdir()

    async def story() -> list[str | None]:
        queue = await open_queue(folder / "queue.sqlite")
        await queue.put(REQUEST)
        folder.rename(away)
        with pytest.raises(QueueUnavailable, match="No such file or directory"):
            await queue.put(REQUEST)
        told = [await queue.problem()]
        folder.mkdir()
        (folder / "queue.sqlite").touch()
        with pytest.raises(QueueUnavailable, match="was replaced"):
            await queue.put(REQUEST)
        shutil.rmtree(folder)
        away.rename(folder)
        told.append(await queue.problem())
        assert (await queue.put(REQUEST)).depth == 2
        await queue.close()
        return told

    gone, back = asyncio.run(story())
    assert gone is not None
    assert gone.startswith("the queue can't be written: ")
    assert back is None


def test_the_writer_outlives_an_error_that_nobody_expected(tmp_path: Path) -> None:
    """The jobs of that commit fail, and the next one is done."""

    async def story() -> None:
        connection = open_file(tmp_path / "queue.sqlite")[0]
        store = Store(connection)
        writer = Writer(connection, store)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(crashpoints, "reach", _raise)  # a stand-in: nothing raises there on demand
            with pytest.raises(MemoryError):
                await writer.do(put)
        assert writer.counts == Counts()

        assert (await writer.do(put)).depth == 1
        await writer.close()

    asyncio.run(story())


def test_rows_of_another_writer_are_counted(tmp_path: Path) -> None:
    """The depth is never negative when they are refused."""
    path = tmp_path / "queue.sqlite"

    async def story() -> list[int]:
        queue = await open_queue(path)
        with sqlite3.connect(path) as other:
            for table in (
                "posthouse_requests (request_id, is_open) VALUES ('other', 1)",
                "gateway_requests (request_id, request_kind, payload_json, state, accepted_at_utc,"
                " managed_agent_instance_epoch) VALUES ('other', 'dance', '{}', 'accepted', '', 1)",
            ):
                other.execute(f"INSERT INTO {table}")
        other.close()
        row = await queue.next()
        assert row is not None
        depths = [queue.counts.depth]
        await queue.refuse(row.request_id, "nobody can do that")
        depths.append(queue.counts.depth)
        await queue.close()
        return depths

    assert asyncio.run(story()) == [1, 0]


def _raise(_: str) -> None:
    raise MemoryError

"""The one thread that writes."""

import asyncio
import threading
from pathlib import Path

import pytest

from posthouse.queue import Accepted, Counts, Request
from posthouse.queue.opening import open_file
from posthouse.queue.store import Store
from posthouse.queue.writer import Writer

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

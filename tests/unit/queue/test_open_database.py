"""Opening a queue that somebody left in any state."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from posthouse.queue import Counts, QueueUnavailable, Request, SetAside, open_queue, set_aside_at

REQUEST = Request(kind="submit_prompt", payload={"prompt": "x" * 3000}, epoch=1)


async def filled(path: Path) -> None:
    queue = await open_queue(path)
    await asyncio.gather(*[queue.put(REQUEST) for _ in range(50)])
    await queue.close()


def broken_by(path: Path, damage: str) -> None:
    """A queue with fifty requests, and then that."""
    asyncio.run(filled(path))
    content = path.read_bytes()
    match damage:
        case "rubbish":
            path.write_bytes(b"this is not a database" * 100)
        case "cut off":
            path.write_bytes(content[: len(content) // 2])
        case "overwritten in the middle":
            middle = len(content) // 2
            path.write_bytes(content[:middle] + b"\xa5" * 8192 + content[middle + 8192 :])


@pytest.mark.parametrize("damage", ["rubbish", "cut off", "overwritten in the middle"])
def test_a_broken_queue_is_set_aside_and_a_new_one_begun(tmp_path: Path, damage: str) -> None:
    """What could not be read is kept for whoever wants to look, and said; the new queue works."""
    path = tmp_path / "queue.sqlite"
    broken_by(path, damage)
    before = path.read_bytes()

    async def story() -> SetAside | None:
        queue = await open_queue(path)
        assert (await queue.put(REQUEST)).depth == 1
        await queue.close()
        return queue.recovery.set_aside

    aside = asyncio.run(story())

    assert aside is not None
    assert aside.reason
    assert set_aside_at(path) == [aside.kept_as]
    assert aside.kept_as.read_bytes() == before
    assert aside.kept_as.name.startswith("queue.sqlite.corrupt-20")


def test_two_queues_broken_in_one_second_are_both_kept(tmp_path: Path) -> None:
    """The second never replaces the first."""
    path = tmp_path / "queue.sqlite"
    for number in range(2):
        broken_by(path, "rubbish")
        path.write_bytes(path.read_bytes() + bytes([number]))
        asyncio.run(filled(path))

    assert sorted(one.read_bytes()[-1] for one in set_aside_at(path)) == [0, 1]


def test_a_journal_without_its_database_is_forgotten(tmp_path: Path) -> None:
    """Whoever died while setting a queue aside leaves nothing that spoils the new one."""
    path = tmp_path / "queue.sqlite"
    path.with_name("queue.sqlite-wal").write_bytes(b"left over" * 1000)

    async def story() -> Counts:
        queue = await open_queue(path)
        await queue.put(REQUEST)
        await queue.close()
        return queue.counts

    assert asyncio.run(story()) == Counts(accepted=1)


def test_what_another_file_would_not_mend_is_a_clear_error(tmp_path: Path) -> None:
    """A folder in the place of the queue is named, with its path, and nothing is moved."""
    path = tmp_path / "queue.sqlite"
    path.mkdir()

    with pytest.raises(QueueUnavailable, match=str(path)):
        asyncio.run(open_queue(path))

    assert list(tmp_path.iterdir()) == [path]


def test_a_healthy_queue_is_kept_whatever_its_reader_left(tmp_path: Path) -> None:
    """A reader that still has the file open does not make it look broken."""
    path = tmp_path / "queue.sqlite"
    asyncio.run(filled(path))
    reader = sqlite3.connect(path)
    reader.execute("SELECT count(*) FROM gateway_requests").fetchone()

    async def story() -> tuple[Counts, SetAside | None]:
        queue = await open_queue(path)
        await queue.close()
        return queue.counts, queue.recovery.set_aside

    assert asyncio.run(story()) == (Counts(accepted=50), None)
    reader.close()

"""A full queue, a full disk, a file system nobody may write, a clock that jumps.

Whatever it is, nothing is half accepted, the reason is told, and the gateway goes on when it may.
"""

import asyncio
import json
import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from posthouse.events.journal import Journal
from posthouse.gateway import worker
from posthouse.gateway.files import Publisher, live_attach
from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.gateway.status import Binding
from posthouse.gateway_lifecycle import gateway_lock
from posthouse.queue import open_queue
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.support.process_log import close_log, open_log
from posthouse.testing.fake_mailbox import FakeMailbox
from posthouse.testing.gateway import Answer, FakeAgent, call
from posthouse.testing.running_gateways import is_at_rest, opened, session_in
from posthouse.testing.waiting import LIMIT_SECONDS

BINDING = Binding(host="127.0.0.1", port=1)
INTERRUPT = {"kind": "interrupt", "payload": {}}


def prompt(text: str) -> dict[str, Any]:
    return {"kind": "submit_prompt", "payload": {"prompt": text}}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(disk: Path) -> Path:
    """Take all the room there is, to the last byte."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as stream:
        for size in (4096, 1):
            try:
                while True:
                    stream.write(b"x" * size)
            except OSError:
                continue
    return filler


def rows(session: Session) -> list[tuple[str, str]]:
    """Prompt and state of every request."""
    with sqlite3.connect(f"file:{session.gateway_root / 'queue.sqlite'}?mode=ro", uri=True) as connection:
        found = connection.execute(
            "SELECT json_extract(payload_json, '$.prompt'), state FROM gateway_requests ORDER BY rowid"
        ).fetchall()
    connection.close()
    return found


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


def submit(gateway: Gateway) -> Callable[[Any], Awaitable[Answer]]:
    served = app.build(gateway)
    return lambda body: call(served, "POST", "/v1/requests", body)


class Messages(logging.Handler):
    """What a log says, also when its disk is full."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())


@asynccontextmanager
async def watched(
    session: Session, agent: FakeAgent, *, max_waiting: int = 100, told: logging.Handler | None = None
) -> AsyncIterator[Gateway]:
    """A gateway with a queue of that size, whose log is also told to somebody."""
    root, told = session.gateway_root, told or logging.NullHandler()
    log, attach = open_log(root / "logs/gateway.log", told), live_attach(session, BINDING)
    gateway = Gateway(
        attach=attach,
        binding=BINDING,
        queue=await open_queue(root / "queue.sqlite", max_waiting=max_waiting),
        adapter=agent,
        journal=Journal(root / "events.jsonl"),
        publisher=Publisher(session, attach, BINDING, log),
        open_mailbox=lambda binding: FakeMailbox(),
        log=log,
    )
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()
        close_log(log)


def test_a_full_queue_answers_429_with_the_reason(tmp_path: Path) -> None:
    """What waits goes on; an interrupt of what runs is taken even then; later there is room again."""
    session = session_in(tmp_path)

    async def story() -> None:
        agent = FakeAgent()
        agent.appear()
        agent.hold()
        async with watched(session, agent, max_waiting=2) as gateway:
            ask = submit(gateway)
            await ask(prompt("runs"))
            await until(lambda: len(agent.received) == 1)
            answers = [await ask(prompt(text)) for text in ("waits", "waits too", "too much")]
            interrupted = await ask(INTERRUPT)
            agent.let_go()
            await until(lambda: is_at_rest(gateway))
            later = await ask(prompt("later"))
            await until(lambda: is_at_rest(gateway))

        assert [one.status for one in (*answers, interrupted, later)] == [202, 202, 429, 202, 202]
        assert answers[2].body == {
            "detail": "2 requests wait already, which is the limit; ask again when some have been carried out"
        }
        assert [one.text for one in agent.received] == ["runs", "waits", "waits too", "later"]

    asyncio.run(story())


@pytest.mark.needs_host("root")
def test_a_full_disk_refuses_and_takes_requests_again_when_there_is_room(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """503 with the reason, nothing half there; what the agent did meanwhile is recorded afterwards."""
    monkeypatch.setattr(worker, "_RETRY_SECONDS", 0.05)
    session = session_in(small_disk)

    async def story() -> None:
        agent = FakeAgent()
        agent.appear()
        agent.hold()
        told = Messages()
        async with watched(session, agent, told=told) as gateway:
            ask = submit(gateway)
            first = await ask(prompt("first"))
            await until(lambda: len(agent.received) == 1)
            filler = fill(small_disk)
            agent.let_go()
            await until(lambda: "outcome can't be written; retrying" in told.heard)
            refused = [await ask(prompt("x" * 50_000)) for _ in range(3)]
            assert rows(session) == [("first", "running")]
            filler.unlink()
            second = await ask(prompt("second"))
            await until(lambda: is_at_rest(gateway))

        assert [one.status for one in (first, *refused, second)] == [202, 503, 503, 503, 202]
        assert refused[0].body == {"detail": "the queue could not be written: database or disk is full"}
        assert [one.text for one in agent.received] == ["first", "second"]

    asyncio.run(story())

    assert rows(session) == [("first", "completed"), ("second", "completed")]


#: Puts requests into a queue whose files may not grow any more, and again when they may.
FORBIDDEN_TO_GROW = """
import asyncio, json, resource, sys
from pathlib import Path
from posthouse.queue import QueueUnavailable, Request, open_queue

async def life():
    queue = await open_queue(Path(sys.argv[1]))
    big = Request(kind="submit_prompt", payload={"prompt": "x" * 100_000}, epoch=1)
    told = [(await queue.put(big)).depth]
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    answers = await asyncio.gather(*[queue.put(big) for _ in range(5)], return_exceptions=True)
    told += [type(one).__name__ for one in answers]
    told.append(queue.counts.depth)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    told.append((await queue.put(big)).depth)
    await queue.close()
    print(json.dumps(told))

asyncio.run(life())
"""


def test_files_that_may_not_grow_refuse_and_take_requests_again(tmp_path: Path) -> None:
    """Requests that shared the refused commit are all refused, and none of them is there afterwards."""
    path = tmp_path / "queue.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", FORBIDDEN_TO_GROW, str(path)], capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == [1, *["QueueUnavailable"] * 5, 1, 2]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM gateway_requests").fetchone() == (2,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


@pytest.mark.needs_host("root")
def test_a_read_only_file_system_is_a_clear_refusal(small_disk: Path) -> None:
    """The gateway does not start, and says why in one line."""
    session = session_in(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)

    done = subprocess.run(
        [sys.executable, "-m", "posthouse.gateway", "--gateway-root", str(session.gateway_root)],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )

    path = session.gateway_root / gateway_lock.LOCK
    assert (done.returncode, done.stderr) == (
        1,
        f"gateway: read-only file system: {path}; mount it writable, then try again\n",
    )


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are carried out in the order they came, whatever their times say."""
    session = session_in(tmp_path)
    noon = datetime(2026, 6, 5, 12, tzinfo=UTC)
    jumps = [timedelta(days=days) for days in (0, 4000, -4000, 1, -1)]

    async def story() -> None:
        agent = FakeAgent()
        agent.appear()
        agent.be_busy()
        async with opened(session, agent, BINDING) as gateway:
            ask = submit(gateway)
            for number, jump in enumerate(jumps):
                monkeypatch.setattr(clock, "now", lambda jump=jump: noon + jump)
                await ask(prompt(str(number)))
            agent.be_ready()
            await until(lambda: is_at_rest(gateway))

        assert [one.text for one in agent.received] == ["0", "1", "2", "3", "4"]

    asyncio.run(story())

    assert rows(session) == [(str(number), "completed") for number in range(5)]

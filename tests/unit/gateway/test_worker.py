"""The worker by itself."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from posthouse.events.journal import Journal
from posthouse.gateway.receipts.service import ReceiptService
from posthouse.gateway.slot import Slot
from posthouse.gateway.worker import Worker
from posthouse.queue import Counts, ExecutionResult, Finished, Instance, Queue, Request, open_queue
from posthouse.testing.gateway import FakeAgent

Until = Callable[[Callable[[], bool]], Awaitable[None]]


def _worker(
    queue: Queue, agent: FakeAgent, journal: Journal, instance: Callable[[], Instance | None]
) -> Worker:
    log = logging.Logger("test")
    return Worker(
        queue,
        agent,
        journal,
        log,
        slot=Slot(),
        carry_out=lambda _, prompt: agent.execute(prompt),
        receipts=ReceiptService(queue, agent, journal, log, on_finished=lambda _: None),
        open_instance=instance,
        on_change=lambda: None,
    )


def test_a_door_that_closes_while_the_agent_gets_ready_stays_closed(tmp_path: Path, until: Until) -> None:
    """A request is looked at again right before it is given away: the agent may be another by then."""
    instances: list[Instance | None] = [Instance(epoch=1, instance_id="one", is_decided=True)]

    async def story() -> None:
        agent = FakeAgent()
        agent.appear()
        agent.be_busy()
        queue = await open_queue(tmp_path / "queue.sqlite")
        journal = Journal(tmp_path / "events.jsonl")
        worker = _worker(queue, agent, journal, lambda: instances[-1])
        working = asyncio.create_task(worker.run())
        await queue.put(Request(kind="submit_prompt", payload={"prompt": "old"}, epoch=1))
        worker.wake()
        await until(lambda: agent.waits_begun == 1)
        instances.append(None)
        agent.be_ready()
        await until(lambda: agent.waits_ended == 1)
        # What the worker asked of the queue by now is answered before this is.
        await queue.next()

        assert agent.received == []
        assert queue.counts == Counts(accepted=1, running=0)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await queue.close()
        journal.close()

    asyncio.run(story())


def test_a_stop_waits_until_an_end_that_is_written_is_told(
    tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the row says that the request is over, and its event never comes."""

    async def story() -> None:
        agent = FakeAgent()
        agent.appear()
        queue = await open_queue(tmp_path / "queue.sqlite")
        journal = Journal(tmp_path / "events.jsonl")
        worker = _worker(queue, agent, journal, lambda: Instance(epoch=1, instance_id="one", is_decided=True))
        is_written, may_go_on, finish = asyncio.Event(), asyncio.Event(), queue.finish

        async def held(request_id: str, result: ExecutionResult) -> Finished | None:
            finished = await finish(request_id, result)
            is_written.set()
            await may_go_on.wait()
            return finished

        monkeypatch.setattr(queue, "finish", held)
        working = asyncio.create_task(worker.run())
        await queue.put(Request(kind="submit_prompt", payload={"prompt": "old"}, epoch=1))
        worker.wake()
        await is_written.wait()
        working.cancel()
        await asyncio.sleep(0)
        may_go_on.set()
        await asyncio.gather(working, return_exceptions=True)
        await queue.close()
        journal.close()

    asyncio.run(story())

    told = [json.loads(line)["kind"] for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert "completed" in told

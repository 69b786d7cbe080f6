"""The worker by itself."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from posthouse.events.journal import Journal
from posthouse.gateway.receipts.book import ReceiptBook
from posthouse.gateway.slot import Slot
from posthouse.gateway.worker import Worker
from posthouse.queue import Counts, Instance, Request, open_queue
from posthouse.testing.gateway import FakeAgent

Until = Callable[[Callable[[], bool]], Awaitable[None]]


def test_a_door_that_closes_while_the_agent_gets_ready_stays_closed(tmp_path: Path, until: Until) -> None:
    """A request is looked at again right before it is given away: the agent may be another by then."""
    instances: list[Instance | None] = [Instance(epoch=1, instance_id="one", is_decided=True)]

    async def story() -> None:
        agent = FakeAgent()
        agent.appear()
        agent.be_busy()
        queue = await open_queue(tmp_path / "queue.sqlite")
        journal = Journal(tmp_path / "events.jsonl")
        worker = Worker(
            queue,
            agent,
            journal,
            logging.Logger("test"),
            slot=Slot(),
            carry_out=lambda _, prompt: agent.carry_out(prompt),
            book=ReceiptBook(queue, agent, journal, logging.Logger("test"), on_finished=lambda _: None),
            open_instance=lambda: instances[-1],
            on_change=lambda: None,
        )
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

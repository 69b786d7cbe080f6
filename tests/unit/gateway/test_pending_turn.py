"""An interrupt between the claim of the slot and the first sign of a turn."""

import asyncio

import pytest

from posthouse.agent.adapter import Prompt, PromptFailed
from posthouse.gateway.pending_turn import PendingTurn
from posthouse.gateway.slot import Slot
from posthouse.testing.gateway import FakeAgent


def test_a_turn_that_begins_after_the_interrupt_is_interrupted() -> None:
    """The interrupt waits for the turn of the work it was meant for."""

    async def story() -> tuple[bool, int]:
        slot, agent = Slot(), FakeAgent()
        agent.appear()
        agent.hold()
        async with slot.work("a request"):
            interrupting = asyncio.create_task(PendingTurn(agent, slot).interrupt())
            await asyncio.sleep(0)
            assert not interrupting.done()
            turn = asyncio.create_task(agent.execute(Prompt(text="long")))
            with pytest.raises(PromptFailed):
                await turn
            return await interrupting, len(agent.received)

    assert asyncio.run(story()) == (True, 1)


def test_work_that_ends_without_a_turn_leaves_the_next_one_alone() -> None:
    """What takes the slot afterwards is another piece of work."""

    async def story() -> tuple[bool, bool]:
        slot, agent = Slot(), FakeAgent()
        agent.appear()
        agent.hold()
        async with slot.work("the first"):
            interrupting = asyncio.create_task(PendingTurn(agent, slot).interrupt())
            await asyncio.sleep(0)
        async with slot.work("the second"):
            turn = asyncio.create_task(agent.execute(Prompt(text="next")))
            was_interrupted = await interrupting
            still_runs = not turn.done()
            agent.let_go()
            await turn
        return was_interrupted, still_runs

    assert asyncio.run(story()) == (False, True)

"""The execution slot."""

import asyncio

import pytest

from posthouse.gateway.slot import Slot, SlotTaken


def test_work_comes_one_after_the_other_in_the_order_of_asking() -> None:
    """Nobody overtakes, and nobody overlaps."""

    async def story() -> list[str]:
        slot, told = Slot(), list[str]()

        async def work(name: str) -> None:
            async with slot.work(name):
                told.append(f"{name} begins")
                await asyncio.sleep(0)
                told.append(f"{name} ends")

        await asyncio.gather(work("a"), work("b"), work("c"))
        assert not slot.is_held
        return told

    assert asyncio.run(story()) == [f"{name} {what}" for name in "abc" for what in ("begins", "ends")]


def test_whoever_waits_too_long_hears_who_holds_it() -> None:
    """The slot stays with its holder, and is free afterwards."""

    async def story() -> None:
        slot = Slot()
        async with slot.work("a direct prompt"):
            with pytest.raises(SlotTaken, match="a direct prompt is being given"):
                async with slot.work("other", within_seconds=0.01):
                    pass
            with pytest.raises(SlotTaken, match="a direct prompt is being given"):
                async with slot.keys(within_seconds=0.01):
                    pass
        async with slot.keys(within_seconds=0.01):
            assert slot.is_held
        assert not slot.is_held

    asyncio.run(story())


def test_keys_pass_while_the_holder_waits_and_other_work_does_not() -> None:
    """Waiting for the agent gives the hands away, not the turn."""

    async def story() -> None:
        slot = Slot()
        async with slot.work("a direct prompt"):
            async with slot.waiting():
                async with slot.keys(within_seconds=0.01):
                    pass
                with pytest.raises(SlotTaken):
                    async with slot.work("other", within_seconds=0.01):
                        pass
            with pytest.raises(SlotTaken):
                async with slot.keys(within_seconds=0.01):
                    pass

    asyncio.run(story())


def test_a_holder_that_is_cancelled_leaves_it_free() -> None:
    """Also while it waits."""

    async def story() -> None:
        slot, inside = Slot(), asyncio.Event()

        async def work() -> None:
            async with slot.work("work"), slot.waiting():
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await inside.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        assert not slot.is_held

    asyncio.run(story())

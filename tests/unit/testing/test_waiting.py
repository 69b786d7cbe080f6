"""What a wait in vain says."""

import asyncio

import pytest

from posthouse.testing.waiting import NeverHappened, limited, wait_for, witness


def _unable() -> str:
    raise OSError("the screen is gone")


def test_a_wait_in_vain_repeats_what_the_witnesses_of_that_moment_say() -> None:
    """One that has left says nothing, and one that fails hides neither the others nor the reason."""
    with witness(lambda: "the screen"):
        with witness(lambda: "left before"):
            pass
        with witness(_unable), witness(lambda: "the transcript"), pytest.raises(NeverHappened) as raised:
            wait_for(lambda: False, seconds=0, told=lambda: "no answer")

    first, *statements = str(raised.value).split("\n\n")
    assert first == "not within 0 s: no answer"
    assert (statements[0], statements[2]) == ("the screen", "the transcript")
    assert statements[1].endswith("OSError('the screen is gone')")


def test_a_body_that_takes_too_long_is_a_wait_in_vain() -> None:
    """The limit of a coroutine is told like that of a condition."""

    async def wait() -> None:
        async with limited(seconds=0):
            await asyncio.Event().wait()

    with witness(lambda: "the screen"), pytest.raises(NeverHappened) as raised:
        asyncio.run(wait())

    assert str(raised.value) == "not within 0 s\n\nthe screen"

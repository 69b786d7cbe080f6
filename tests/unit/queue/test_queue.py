"""What every queue promises, whatever it is stored in."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from posthouse.errors import Conflict
from posthouse.queue import (
    Claim,
    Counts,
    EpochDecision,
    ExecutionResult,
    Finished,
    Instance,
    Queue,
    QueueFull,
    QueueUnavailable,
    Request,
    UnfinishedTurn,
    open_queue,
)

Opener = Callable[[], AbstractAsyncContextManager[Queue]]


@pytest.fixture(params=["sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the same queue again each time, as a restarted gateway does."""

    @asynccontextmanager
    async def opener() -> AsyncIterator[Queue]:
        queue = await open_queue(tmp_path / "queue.sqlite", max_waiting=5)
        try:
            yield queue
        finally:
            await queue.close()

    return opener


def prompt(text: str, *, epoch: int = 1) -> Request:
    return Request(kind="submit_prompt", payload={"prompt": text}, epoch=epoch)


def run(opened: Opener, story: Callable[[Queue], Awaitable[None]]) -> None:
    async def told() -> None:
        async with opened() as queue:
            await story(queue)

    asyncio.run(told())


async def next_prompt(queue: Queue) -> tuple[str, int] | None:
    """What comes next, and the epoch that may carry it out."""
    row = await queue.next()
    return None if row is None else (row.payload["prompt"], row.carrier)


async def take(queue: Queue) -> str:
    """Claim the next request."""
    row = await queue.next()
    assert row is not None
    assert (await queue.claim(row.request_id)).is_taken
    return row.request_id


def test_requests_come_out_in_the_order_they_went_in(opened: Opener) -> None:
    """Order is by arrival, also for requests of the same second."""

    async def story(queue: Queue) -> None:
        accepted = [await queue.put(prompt(text)) for text in ("first", "second", "third")]
        taken = []
        for _ in accepted:
            row = await queue.next()
            assert row is not None
            taken.append((row.payload["prompt"], row.request_id))
            await queue.claim(row.request_id)

        assert [one.depth for one in accepted] == [1, 2, 3]
        assert taken == [
            ("first", accepted[0].request_id),
            ("second", accepted[1].request_id),
            ("third", accepted[2].request_id),
        ]

    run(opened, story)


def test_a_request_is_claimed_once(opened: Opener) -> None:
    """A second claim of the same request gets nothing."""

    async def story(queue: Queue) -> None:
        accepted = await queue.put(prompt("once"))

        claims = await asyncio.gather(*[queue.claim(accepted.request_id) for _ in range(3)])

        assert sorted(one.is_taken for one in claims) == [False, False, True]
        assert queue.counts == Counts(accepted=0, running=1)

    run(opened, story)


def test_only_what_runs_can_be_finished(opened: Opener) -> None:
    """A request that was not claimed, or was finished, stays what it is."""

    async def story(queue: Queue) -> None:
        accepted = await queue.put(prompt("one"))
        early = await queue.finish(accepted.request_id, ExecutionResult(state="completed"))
        await queue.claim(accepted.request_id)
        ended = await queue.finish(accepted.request_id, ExecutionResult(state="failed", error="no"))
        again = await queue.finish(accepted.request_id, ExecutionResult(state="completed"))

        failed = Finished(request_id=accepted.request_id, state="failed", error="no", result=None)
        assert (early, ended, again) == (None, failed, None)
        assert queue.counts == Counts()

    run(opened, story)


def test_a_released_request_keeps_its_place(opened: Opener) -> None:
    """What did not reach the agent is the next one again."""

    async def story(queue: Queue) -> None:
        await queue.put(prompt("first"))
        await queue.put(prompt("second"))
        request_id = await take(queue)

        assert await queue.release(request_id)
        assert not await queue.release(request_id)
        assert await next_prompt(queue) == ("first", 1)
        assert queue.counts == Counts(accepted=2, running=0)

    run(opened, story)


def test_what_ran_when_the_gateway_died_is_failed_and_never_repeated(opened: Opener) -> None:
    """A restart keeps what was accepted and fails what was running."""

    async def before(queue: Queue) -> None:
        await queue.put(prompt("first"))
        await queue.put(prompt("second"))
        await take(queue)

    async def after(queue: Queue) -> None:
        assert queue.counts == Counts(accepted=1, running=0)
        assert await next_prompt(queue) == ("second", 1)
        assert [one.state for one in queue.recovery.failed] == ["failed"]

    run(opened, before)
    run(opened, after)


def test_a_request_names_the_instance_it_is_meant_for_and_is_not_overtaken(opened: Opener) -> None:
    """Work meant for an older agent stays where it is, and nothing passes it."""

    async def story(queue: Queue) -> None:
        old = await queue.put(prompt("old", epoch=1))
        new = await queue.put(prompt("new", epoch=2))

        assert await next_prompt(queue) == ("old", 1)
        assert await queue.claim(new.request_id) == Claim(is_taken=False)
        refused = await queue.refuse(old.request_id, "too late")
        assert refused == Finished(
            request_id=old.request_id, state="failed", error="too late", ends_as="failed"
        )
        assert await queue.refuse(old.request_id, "again") is None
        assert await next_prompt(queue) == ("new", 2)
        assert queue.counts == Counts(accepted=1)

    run(opened, story)


def test_a_request_that_starts_at_once_is_never_given_out(opened: Opener) -> None:
    """What is carried out on arrival has its row and does not wait in line."""

    async def story(queue: Queue) -> None:
        accepted = await queue.put(Request(kind="interrupt", payload={}, epoch=1), start=True)

        assert await queue.next() is None
        assert queue.counts == Counts(accepted=0, running=1)
        assert await queue.finish(accepted.request_id, ExecutionResult(state="completed"))

    run(opened, story)


def test_one_bad_request_fails_alone(opened: Opener) -> None:
    """Requests that share a commit with a bad one are kept."""

    async def story(queue: Queue) -> None:
        outcomes = await asyncio.gather(
            queue.put(prompt("good")),
            queue.put(Request(kind="submit_prompt", payload={"prompt": object()}, epoch=1)),
            queue.put(prompt("also good")),
            return_exceptions=True,
        )

        assert [isinstance(one, TypeError) for one in outcomes] == [False, True, False]
        assert queue.counts == Counts(accepted=2, running=0)

    run(opened, story)


def test_a_full_queue_refuses_what_would_wait_and_takes_it_later(opened: Opener) -> None:
    """The limit holds also for requests that come together; what starts at once is always taken."""

    async def story(queue: Queue) -> None:
        outcomes = await asyncio.gather(
            *[queue.put(prompt(str(number))) for number in range(7)], return_exceptions=True
        )
        interrupt = await queue.put(Request(kind="interrupt", payload={}, epoch=1), start=True)

        assert [isinstance(one, QueueFull) for one in outcomes] == [False] * 5 + [True] * 2
        assert interrupt.depth == 6
        await take(queue)
        assert (await queue.put(prompt("now"))).depth == 7

    run(opened, story)


def test_the_first_instance_is_decided_and_a_stranger_is_not(opened: Opener) -> None:
    """The epoch moves only with the instance, survives restarts, and a new one waits for a decision."""
    seen: list[tuple[Instance, EpochDecision | None]] = []

    async def first_life(queue: Queue) -> None:
        assert await queue.latest_instance() is None
        seen.append(await queue.observe("one", is_known=True))
        seen.append(await queue.observe("one", is_known=True))

    async def second_life(queue: Queue) -> None:
        assert await queue.latest_instance() == seen[0][0]
        seen.append(await queue.observe("one", is_known=False))
        seen.append(await queue.observe("two", is_known=False))
        seen.append(await queue.observe("two", is_known=True))

    run(opened, first_life)
    run(opened, second_life)

    one = (Instance(epoch=1, instance_id="one", is_decided=True), None)
    two = (Instance(epoch=2, instance_id="two", is_decided=False), None)
    assert seen == [one, one, one, two, two]


@pytest.mark.parametrize(("waiting", "is_decided"), [(0, True), (1, False)])
def test_our_own_relaunch_is_decided_when_nothing_old_waits(
    opened: Opener, waiting: int, is_decided: bool
) -> None:
    """A relaunch goes on by itself, unless that would give old work to the new agent."""

    async def story(queue: Queue) -> None:
        await queue.observe("one", is_known=True)
        # What runs ends with the old agent; it does not wait for the new one.
        await queue.put(Request(kind="interrupt", payload={}, epoch=1), start=True)
        for _ in range(waiting):
            await queue.put(prompt("old"))

        instance, decided = await queue.observe("two", is_known=True)

        assert instance == Instance(epoch=2, instance_id="two", is_decided=is_decided)
        assert (decided is not None and decided.decision) == ("relaunch" if is_decided else False)

    run(opened, story)


def test_replay_gives_old_work_to_the_new_instance_and_keeps_its_row_true(opened: Opener) -> None:
    """The row still names the epoch it was accepted for; a later replacement blocks it again."""

    async def story(queue: Queue) -> None:
        await queue.observe("one", is_known=True)
        old = await queue.put(prompt("old"))
        await queue.observe("two", is_known=False)

        decided = await queue.decide("replay")

        instance = Instance(epoch=2, instance_id="two", is_decided=True)
        assert (decided.decision, decided.instance, decided.request_ids, decided.error) == (
            "replay",
            instance,
            (old.request_id,),
            None,
        )
        row = await queue.next()
        assert row is not None
        assert (row.epoch, row.carrier) == (1, 2)
        third, _ = await queue.observe("three", is_known=True)
        assert not third.is_decided
        await queue.decide("replay")
        assert await next_prompt(queue) == ("old", 3)

    run(opened, story)


def test_discard_fails_old_work_and_leaves_alone_what_runs(opened: Opener) -> None:
    """Each discarded request has its reason; the decision survives a restart."""

    async def before(queue: Queue) -> None:
        await queue.observe("one", is_known=True)
        for text in ("runs", "waits", "waits too"):
            await queue.put(prompt(text))
        running = await take(queue)
        await queue.observe("two", is_known=False)

        decided = await queue.decide("discard")

        assert len(decided.request_ids) == 2
        assert decided.error is not None
        assert queue.counts == Counts(accepted=0, running=1)
        assert await queue.finish(running, ExecutionResult(state="completed")) is not None
        assert (await queue.put(prompt("new", epoch=2))).depth == 1

    async def after(queue: Queue) -> None:
        assert await queue.latest_instance() == Instance(epoch=2, instance_id="two", is_decided=True)
        assert await next_prompt(queue) == ("new", 2)

    run(opened, before)
    run(opened, after)


def test_there_is_nothing_to_decide_twice(opened: Opener) -> None:
    """Whoever comes second is told, and changes nothing."""

    async def story(queue: Queue) -> None:
        with pytest.raises(Conflict, check=lambda error: error.code == "nothing_to_decide"):
            await queue.decide("discard")
        await queue.observe("one", is_known=True)
        with pytest.raises(Conflict, check=lambda error: error.code == "nothing_to_decide"):
            await queue.decide("discard")
        await queue.observe("two", is_known=False)
        await queue.decide("replay")
        with pytest.raises(Conflict, check=lambda error: error.code == "nothing_to_decide"):
            await queue.decide("discard")

    run(opened, story)


def test_a_turn_whose_gateway_went_away_is_found_again(opened: Opener) -> None:
    """Which turn carried out which request is on disk before it begins; its end is recorded once."""
    ids: list[str] = []

    async def dies(queue: Queue) -> None:
        for turn_id in ("turn-1", "turn-2", "turn-3", "turn-4"):
            accepted = await queue.put(prompt(turn_id))
            await queue.claim(accepted.request_id, turn_id=turn_id)
            ids.append(accepted.request_id)
        await queue.finish(ids[0], ExecutionResult(state="completed"))
        await queue.finish(ids[1], ExecutionResult(state="failed", error="stopped", turn_goes_on=True))
        await queue.release(ids[2])
        assert await queue.open_turn_id() == "turn-4"

    async def lives(queue: Queue) -> None:
        left = await queue.unfinished_turns()
        assert sorted(left, key=lambda one: one.turn_id) == [
            UnfinishedTurn(request_id=ids[1], turn_id="turn-2"),
            UnfinishedTurn(request_id=ids[3], turn_id="turn-4"),
        ]
        told = await queue.record_turn(ids[1], "completed")
        error = "stopped; later its turn was found completed"
        assert told == Finished(request_id=ids[1], state="failed", error=error)
        assert await queue.record_turn(ids[1], "failed") is None
        assert await queue.unfinished_turns() == [UnfinishedTurn(request_id=ids[3], turn_id="turn-4")]

    run(opened, dies)
    run(opened, lives)


def test_a_closed_queue_refuses(opened: Opener) -> None:
    """Whoever is too late is told, instead of waiting for ever."""

    async def story(queue: Queue) -> None:
        await queue.close()

        with pytest.raises(QueueUnavailable):
            await queue.put(prompt("late"))

    run(opened, story)

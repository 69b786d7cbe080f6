"""What the calls of a server share while they are answered."""

import threading
from collections.abc import Callable

import pytest

from posthouse.testing.model_api.script import Step
from posthouse.testing.model_api.stage import Closed, Stage


def test_queued_steps_are_taken_once_and_in_order() -> None:
    """The next calls get what was queued; after that the prompts decide again."""
    stage = Stage()
    stage.queue(Step(text="first"))
    stage.queue(Step(text="second"))

    taken = [stage.take_queued() for _ in range(3)]

    assert taken == [Step(text="first"), Step(text="second"), None]


@pytest.mark.parametrize(
    ("step", "failures"),
    [
        (Step(), [False, False, False, False]),
        (Step(status=400), [True, True, True, True]),
        (Step(status=529, times=2), [True, True, False, True]),
    ],
)
def test_a_step_fails_as_often_as_it_says(step: Step, failures: list[bool]) -> None:
    """One that recovers counts its own failures, and starts over for the next turn."""
    stage = Stage()

    assert [stage.should_fail(step) for _ in failures] == failures


def test_a_reset_forgets_steps_and_failures() -> None:
    """After it the server is as new."""
    stage = Stage()
    stage.queue(Step())
    once = Step(status=500, times=1)
    stage.should_fail(once)

    stage.reset()

    assert (stage.take_queued(), stage.should_fail(once)) == (None, True)


def test_a_release_lets_go_of_those_who_wait() -> None:
    """A held answer goes on with a release after its beginning, not with an earlier one."""
    stage = Stage()
    stage.release()
    waiting = threading.Thread(target=stage.wait_for_release, kwargs={"after": stage.releases})
    waiting.start()
    waiting.join(timeout=0.05)
    was_held = waiting.is_alive()

    stage.release()
    waiting.join(timeout=10)

    assert (was_held, waiting.is_alive()) == (True, False)


def test_a_release_may_come_before_the_hold() -> None:
    """Who sees the first half may release at once: the answer need not have come to its hold yet."""
    stage = Stage()
    begun_at = stage.releases

    stage.release()

    stage.wait_for_release(after=begun_at)
    assert stage.releases == begun_at + 1


@pytest.mark.parametrize(
    "wait", [lambda stage: stage.wait_for_release(after=0), lambda stage: stage.pause(600)]
)
def test_closing_ends_every_wait(wait: Callable[[Stage], None]) -> None:
    """Nobody sleeps on in a server that is gone: neither who waits already nor who comes later."""
    stage = Stage()
    ended: list[str] = []

    def stand() -> None:
        try:
            wait(stage)
        except Closed:
            ended.append("closed")

    waiting = threading.Thread(target=stand)
    waiting.start()
    stage.close()
    waiting.join(timeout=10)
    stand()

    assert ended == ["closed", "closed"]

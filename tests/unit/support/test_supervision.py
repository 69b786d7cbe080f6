"""Background tasks that die."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from posthouse.support.supervision import Supervisor

Until = Callable[[Callable[[], bool]], Awaitable[None]]


def test_a_task_that_dies_is_logged_and_started_again(until: Until, caplog: pytest.LogCaptureFixture) -> None:
    """The other tasks go on, and the death stays known after the restart."""

    async def story() -> None:
        supervisor = Supervisor(logging.getLogger("test"), first_delay_seconds=0.001)
        runs: list[int] = []

        async def dies_twice() -> None:
            runs.append(len(runs))
            if len(runs) < 3:
                raise RecursionError("too deep")
            await asyncio.Event().wait()

        supervisor.supervise("worker", dies_twice)
        await until(lambda: len(runs) == 3)

        (failure,) = supervisor.failures
        assert (failure.task, failure.deaths, failure.error) == ("worker", 2, "RecursionError: too deep")
        assert failure.is_running
        assert supervisor.current_problem is None
        await supervisor.stop()

    asyncio.run(story())
    assert "Traceback" in caplog.text


def test_a_task_that_waits_for_its_restart_is_reported(until: Until) -> None:
    """`trouble` names it and says why."""

    async def story() -> None:
        supervisor = Supervisor(logging.getLogger("test"), first_delay_seconds=600)

        async def dies() -> None:
            raise ValueError("torn")

        supervisor.supervise("follower", dies)
        await until(lambda: bool(supervisor.failures))

        assert supervisor.current_problem is not None
        assert "'follower' died (ValueError: torn)" in supervisor.current_problem
        await supervisor.stop()

    asyncio.run(story())

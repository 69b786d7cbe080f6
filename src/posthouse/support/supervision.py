"""Background tasks of a process: one that fails is logged with its traceback and restarted with backoff."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from posthouse.support import clock

T = TypeVar("T")

FIRST_DELAY_SECONDS = 1.0
LAST_DELAY_SECONDS = 60.0
_MAX_ERROR_CHARACTERS = 300
#: Tasks come and go with agents; the oldest deaths are forgotten.
_MAX_FAILURES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A supervised task that died at least once since the process started."""

    task: str
    deaths: int
    #: The last error.
    error: str
    died_at_utc: str
    #: False while it waits for its restart.
    is_running: bool

    @property
    def description(self) -> str:
        return f"the background task {self.task!r} died ({self.error}); it is restarted with backoff"


class Supervisor:
    """The background tasks of one gateway or one server."""

    def __init__(
        self,
        log: logging.Logger,
        *,
        first_delay_seconds: float = FIRST_DELAY_SECONDS,
        last_delay_seconds: float = LAST_DELAY_SECONDS,
    ) -> None:
        self._log = log
        self._first_delay = first_delay_seconds
        self._last_delay = last_delay_seconds
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failures: dict[str, Failure] = {}

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Every task that has failed, restarted ones included."""
        return tuple(self._failures.values())

    @property
    def current_problem(self) -> str | None:
        """A task that is down now, and its error; None when all run."""
        return next((one.description for one in self._failures.values() if not one.is_running), None)

    def supervise(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Run *work*, and run it again whenever it raises, until it returns or is cancelled.

        The delay before a restart doubles with each consecutive failure, up to the last delay; a run that
        lasts longer than the last delay resets it.
        """
        return self._start(self._supervised(name, work))

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run *work* once; an error is logged."""
        return self._start(work)

    async def stop(self) -> None:
        """Cancel all tasks, and return when they have ended."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _supervised(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        loop, delay = asyncio.get_running_loop(), self._first_delay
        try:
            while True:
                started_at = loop.time()
                try:
                    return await work()
                except Exception as error:  # noqa: BLE001 - a task must outlive any fault of one run
                    self._died(name, error)
                if loop.time() - started_at > self._last_delay:
                    delay = self._first_delay
                await asyncio.sleep(delay)
                delay = min(delay * 2, self._last_delay)
                self._set_running(name)
        finally:
            # A task that is cancelled while it waits for its restart does not count as down.
            self._set_running(name)

    def _died(self, name: str, error: Exception) -> None:
        before = self._failures.pop(name, None)
        while len(self._failures) >= _MAX_FAILURES:
            del self._failures[next(iter(self._failures))]
        self._failures[name] = Failure(
            task=name,
            deaths=1 if before is None else before.deaths + 1,
            error=f"{type(error).__name__}: {error}"[:_MAX_ERROR_CHARACTERS],
            died_at_utc=clock.iso_seconds(clock.now()),
            is_running=False,
        )
        self._log.error("a background task died; it is restarted", exc_info=error, extra={"task": name})

    def _set_running(self, name: str) -> None:
        if (failure := self._failures.get(name)) is not None and not failure.is_running:
            self._failures[name] = replace(failure, is_running=True)

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("a background task failed", exc_info=error)

"""What a gateway does beside answering: tasks that end with it at the latest, and fail aloud."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any


class Background:
    """The running tasks of one gateway."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run *work* beside everything else; an error that it ends with is logged."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Cancel what runs, and return when all of it has ended."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("a task of the gateway failed", exc_info=error)

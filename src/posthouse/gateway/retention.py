"""How long a gateway keeps its history, and who sees to it.

Nothing here ticks: an idle gateway prunes nothing, because nothing is added either.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from posthouse.queue import Queue, QueueUnavailable

#: Requests between two looks at the queue's history.
_LOOK_EVERY = 500
#: Between two parts of the work, so that requests pass in between.
_BREATH_SECONDS = 0.05


class Pruner:
    """Keeps the finished requests of one queue within their limits."""

    def __init__(
        self, queue: Queue, log: logging.Logger, *, spawn: Callable[[Coroutine[Any, Any, None]], object]
    ) -> None:
        self._queue = queue
        self._log = log
        self._spawn = spawn
        self._since_last = 0
        self._is_pruning = False

    def start(self) -> None:
        """Prune what is beyond the limits now, in the background."""
        self._since_last = 0
        if not self._is_pruning:
            self._is_pruning = True
            self._spawn(self._prune())

    def one_finished(self) -> None:
        """Count a finished request; from time to time that is a reason to prune."""
        self._since_last += 1
        if self._since_last >= _LOOK_EVERY:
            self.start()

    async def _prune(self) -> None:
        dropped = 0
        try:
            while part := await self._queue.prune():
                dropped += part
                await asyncio.sleep(_BREATH_SECONDS)
        except QueueUnavailable as error:
            # It is tried again after the next requests; those say themselves that the disk refuses.
            self._log.warning("history could not be pruned", extra={"error": str(error)})
        finally:
            self._is_pruning = False
        if dropped:
            self._log.info("history pruned", extra={"rows": dropped})

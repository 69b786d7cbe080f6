"""Prunes the request history of a gateway.

There is no timer: an idle gateway prunes nothing, because it adds nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from posthouse.queue import Queue, QueueUnavailable

#: Finished requests between two prunings.
_PRUNE_EVERY = 500
#: Pause between two batches, so that requests are served in between.
_PAUSE_SECONDS = 0.05


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
        """Prune in the background, now. Does nothing while a pruning runs."""
        self._since_last = 0
        if not self._is_pruning:
            self._is_pruning = True
            self._spawn(self._prune())

    def count_finished(self) -> None:
        """Count a finished request; prune after every 500."""
        self._since_last += 1
        if self._since_last >= _PRUNE_EVERY:
            self.start()

    async def _prune(self) -> None:
        dropped = 0
        try:
            while part := await self._queue.prune():
                dropped += part
                await asyncio.sleep(_PAUSE_SECONDS)
        except QueueUnavailable as error:
            # Retried after the next requests, which report a failing disk themselves.
            self._log.warning("history pruning failed", extra={"error": str(error)})
        finally:
            self._is_pruning = False
        if dropped:
            self._log.info("history pruned", extra={"rows": dropped})

"""Debounce: one call at the end of a burst of changes, and regular calls during a long burst."""

import asyncio
from collections.abc import Callable

#: A pause of this length is the end of a burst …
QUIET_SECONDS = 0.12
#: … and during a longer burst the callback runs this often.
MAX_INTERVAL_SECONDS = 1.0
_MIN_INTERVAL_SECONDS = 0.05


class Debouncer:
    """Calls *callback* after changes, on the running loop. It has no timer while nothing changes."""

    def __init__(
        self,
        callback: Callable[[], None],
        *,
        quiet_seconds: float = QUIET_SECONDS,
        max_interval_seconds: float = MAX_INTERVAL_SECONDS,
    ) -> None:
        self._callback = callback
        self._quiet_seconds = quiet_seconds
        self._max_interval_seconds = max_interval_seconds
        self._loop = asyncio.get_running_loop()
        self._changed_at = self._loop.time()
        self._called_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def mark_changed(self) -> None:

        self._changed_at = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._quiet_seconds, self._due)

    def trigger(self) -> None:
        """Call now, or 50 ms after the last call; a planned call is dropped."""
        self.close()
        now, next_at = self._loop.time(), self._called_at + _MIN_INTERVAL_SECONDS
        if next_at > now:
            self._timer = self._loop.call_at(next_at, self._call)
        else:
            self._call()

    def close(self) -> None:
        """Cancel a planned call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        now = self._loop.time()
        quiet_at = self._changed_at + self._quiet_seconds
        max_interval_at = self._called_at + self._max_interval_seconds
        if (due_at := min(quiet_at, max_interval_at)) <= now:
            self._call()
        else:
            self._timer = self._loop.call_at(due_at, self._due)

    def _call(self) -> None:
        self._timer = None
        self._called_at = self._loop.time()
        self._callback()

"""When to look at something that tells of its changes: at its next pause, or now and then if it has none."""

import asyncio
from collections.abc import Callable

#: A pause of this length is the end of a burst …
QUIET_SECONDS = 0.12
#: … and what never pauses is looked at this often.
RESTLESS_SECONDS = 1.0
_HURRY_SECONDS = 0.05


class Pacer:
    """Calls *look* after changes, on the running loop. Without changes it does nothing and has no timer."""

    def __init__(
        self,
        look: Callable[[], None],
        *,
        quiet_seconds: float = QUIET_SECONDS,
        restless_seconds: float = RESTLESS_SECONDS,
    ) -> None:
        self._look = look
        self._quiet_seconds = quiet_seconds
        self._restless_seconds = restless_seconds
        self._loop = asyncio.get_running_loop()
        self._changed_at = self._loop.time()
        self._looked_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def changed(self) -> None:
        """Something changed."""
        self._changed_at = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._quiet_seconds, self._due)

    def hurry(self) -> None:
        """Look now, whatever was planned; who hurries all the time waits a moment in between."""
        self.close()
        now, next_at = self._loop.time(), self._looked_at + _HURRY_SECONDS
        if next_at > now:
            self._timer = self._loop.call_at(next_at, self._now)
        else:
            self._now()

    def close(self) -> None:
        """Forget what was planned."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        now = self._loop.time()
        quiet_at = self._changed_at + self._quiet_seconds
        restless_at = self._looked_at + self._restless_seconds
        if (due_at := min(quiet_at, restless_at)) <= now:
            self._now()
        else:
            self._timer = self._loop.call_at(due_at, self._due)

    def _now(self) -> None:
        self._timer = None
        self._looked_at = self._loop.time()
        self._look()

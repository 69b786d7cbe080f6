"""Usage limits: the queue waits until one is over, and says so. Nothing that waits is failed for it."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from posthouse.contracts.gateway_tui_http import LimitState
from posthouse.errors import Conflict
from posthouse.events.journal import Journal
from posthouse.support import clock
from posthouse.tracking.tracker import Belief

#: Where a CLI does not say when its limit ends, one try an hour is little enough.
_ASSUMED = timedelta(hours=1)
#: What one timer of the loop waits for at most: a clock may be set meanwhile.
_LONGEST_SLEEP_SECONDS = 60.0


class NotParked(Conflict):
    """No usage limit holds the queue."""

    code = "not_parked"

    def __init__(self) -> None:
        super().__init__("no usage limit holds this agent's queue; there is nothing to resume")


class Limits:
    """Whether a usage limit holds one agent's queue."""

    def __init__(
        self, journal: Journal, *, on_over: Callable[[], None], now: Callable[[], datetime] = clock.now
    ) -> None:
        self._journal = journal
        self._on_over = on_over
        self._now = now
        self._resumes_at: datetime | None = None
        self._is_assumed = False
        #: The user, or time, has ended the limit that the screen still shows.
        self._is_waved = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_parked(self) -> bool:
        return self._resumes_at is not None

    def reason(self) -> str | None:
        """Why nothing is given to the agent now; None when nothing keeps it."""
        if self._resumes_at is None:
            return None
        about = "probably " if self._is_assumed else ""
        return (
            f"the agent's usage limit is reached; it goes on {about}at {clock.iso_seconds(self._resumes_at)}"
        )

    def state(self) -> LimitState:
        at = None if self._resumes_at is None else clock.iso_seconds(self._resumes_at)
        return LimitState(is_parked=self.is_parked, resumes_at_utc=at, detail=self.reason() or "")

    def believe(self, belief: Belief) -> None:
        """Take in what the TUI is believed to do."""
        verdict = belief.verdict
        if verdict.state != "limited":
            self._is_waved = False
            self._over("the TUI shows no limit any more")
        elif not self._is_waved and not self.is_parked:
            self._park(verdict.resets_at, verdict.detail)

    def resume(self) -> LimitState:
        """Go on now, whatever the screen shows of this limit.

        Raises:
            NotParked: Nothing is held.
        """
        if not self.is_parked:
            raise NotParked
        self._is_waved = True
        self._over("the user said so")
        return self.state()

    def close(self) -> None:
        """Let no time pass any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _park(self, resets_at: datetime | None, detail: str) -> None:
        self._is_assumed = resets_at is None
        self._resumes_at = resets_at or self._now() + _ASSUMED
        self._journal.add(
            "limited",
            resets_at_utc=None if resets_at is None else clock.iso_seconds(resets_at),
            resumes_at_utc=clock.iso_seconds(self._resumes_at),
            detail=detail,
        )
        self._wait()

    def _wait(self) -> None:
        """End the limit when its time has come."""
        self.close()
        if self._resumes_at is None:
            return
        left = (self._resumes_at - self._now()).total_seconds()
        if left > 0:
            delay = min(left, _LONGEST_SLEEP_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(delay, self._wait)
            return
        self._is_waved = True
        self._over("its time has come")

    def _over(self, reason: str) -> None:
        if self._resumes_at is None:
            return
        self.close()
        self._resumes_at = None
        self._journal.add("limit_over", detail=reason)
        self._on_over()

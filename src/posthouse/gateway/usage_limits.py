"""Pauses the queue while a usage limit lasts. Queued requests are kept, not failed."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from posthouse.contracts.gateway_tui_http import LimitState
from posthouse.errors import Conflict
from posthouse.events.journal import Journal
from posthouse.support import clock
from posthouse.tracking.tracker import TuiState

#: Used when the CLI does not show when its limit ends.
_DEFAULT_DURATION = timedelta(hours=1)
#: Longest timer: the system clock may be changed in the meantime.
_MAX_SLEEP_SECONDS = 60.0


class UsageLimits:
    """Whether a usage limit holds one agent's queue."""

    def __init__(
        self, journal: Journal, *, on_end: Callable[[], None], now: Callable[[], datetime] = clock.now
    ) -> None:
        self._journal = journal
        self._on_end = on_end
        self._now = now
        self._resumes_at: datetime | None = None
        self._is_estimated = False
        #: The user or the timer has ended the limit that the screen still shows.
        self._is_dismissed = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_parked(self) -> bool:
        return self._resumes_at is not None

    def reason(self) -> str | None:
        """Why nothing is delivered to the agent now; None without a limit."""
        if self._resumes_at is None:
            return None
        about = "probably " if self._is_estimated else ""
        return (
            f"the agent's usage limit is reached; it goes on {about}at {clock.iso_seconds(self._resumes_at)}"
        )

    def state(self) -> LimitState:
        at = None if self._resumes_at is None else clock.iso_seconds(self._resumes_at)
        return LimitState(is_parked=self.is_parked, resumes_at_utc=at, detail=self.reason() or "")

    def observe(self, state: TuiState) -> None:
        """Start or end the limit according to the inferred state of the TUI."""
        verdict = state.inferred
        if verdict.state != "limited":
            self._is_dismissed = False
            self._end("the TUI shows no limit any more")
        elif not self._is_dismissed and not self.is_parked:
            self._park(verdict.resets_at, verdict.detail)

    def resume(self) -> LimitState:
        """End the limit now, even if the screen still shows it.

        Raises:
            Conflict: `not_parked`: no limit holds the queue.
        """
        if not self.is_parked:
            raise Conflict(
                "no usage limit holds this agent's queue; there is nothing to resume", code="not_parked"
            )
        self._is_dismissed = True
        self._end("resumed by the user")
        return self.state()

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _park(self, resets_at: datetime | None, detail: str) -> None:
        self._is_estimated = resets_at is None
        self._resumes_at = resets_at or self._now() + _DEFAULT_DURATION
        self._journal.add(
            "limited",
            resets_at_utc=None if resets_at is None else clock.iso_seconds(resets_at),
            resumes_at_utc=clock.iso_seconds(self._resumes_at),
            detail=detail,
        )
        self._schedule_end()

    def _schedule_end(self) -> None:
        """End the limit at its resume time."""
        self.close()
        if self._resumes_at is None:
            return
        left = (self._resumes_at - self._now()).total_seconds()
        if left > 0:
            delay = min(left, _MAX_SLEEP_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(delay, self._schedule_end)
            return
        self._is_dismissed = True
        self._end("the resume time is reached")

    def _end(self, reason: str) -> None:
        if self._resumes_at is None:
            return
        self.close()
        self._resumes_at = None
        self._journal.add("limit_over", detail=reason)
        self._on_end()

"""Observes one TUI without a gateway, with the same adapter and tracker that a gateway uses."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from posthouse.agent.adapter import AgentAdapter, AgentBusy
from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.server.observation.terminal import Terminal
from posthouse.support import clock
from posthouse.tools.tool import Tool
from posthouse.tracking import tracker
from posthouse.tracking.tracker import Transition

MAX_TRANSITIONS = 50
#: Prevents a busy loop when the system clock is changed.
_LEAST_DELAY_SECONDS = 0.01


class TuiObserver:
    """The inferred state of one TUI, tracked from `open` to `close`."""

    def __init__(self, adapter: AgentAdapter, tool: Tool, *, now: Callable[[], datetime] = clock.now) -> None:
        self.adapter = adapter
        #: Held while a prompt waits for readiness and is typed.
        self.prompt_lock = asyncio.Lock()
        self._tool = tool
        self._timings = TrackingTimings()
        self._now = now
        self._state = tracker.initial(now())
        self._transitions: deque[Transition] = deque(maxlen=MAX_TRANSITIONS)
        self._timer: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        await self.adapter.open(self._update)

    async def close(self) -> None:
        """Stop observing. The agent continues."""
        self._cancel_timer()
        await self.adapter.close()

    async def refresh(self) -> Terminal:
        """Capture the screen and return the resulting state."""
        await self.adapter.refresh()
        self._update()
        return Terminal.from_state(
            self._state,
            self._tool.name,
            at=self._now(),
            timings=self._timings,
            transitions=self._transitions,
        )

    @contextmanager
    def note_prompt(self) -> Iterator[None]:
        """Record the start of a turn with the prompt that the body types; undone by `AgentBusy`."""
        self._set_state(tracker.note_prompt(self._state, at=self._now()))
        try:
            yield
        except AgentBusy:
            self._set_state(
                tracker.withdraw_prompt(
                    self._state, at=self._now(), timings=self._timings, rules=self._tool.evidence_rules
                )
            )
            raise

    def _update(self) -> None:
        """Update the state from the adapter's latest observation."""
        if (observation := self.adapter.observation) is not None:
            self._set_state(
                tracker.observe(
                    self._state,
                    observation,
                    at=self._now(),
                    timings=self._timings,
                    rules=self._tool.evidence_rules,
                )
            )

    def _set_state(self, state: tracker.TuiState) -> None:
        if state.transitions != self._state.transitions:
            self._transitions.append(state.transitions[-1])
        self._state = state
        self._schedule_update()

    def _schedule_update(self) -> None:
        """Schedule an update for the time at which the state may change without a new observation."""
        self._cancel_timer()
        now = self._now()
        due_at = tracker.next_at(self._state, at=now, timings=self._timings)
        if due_at is not None:
            delay = max((due_at - now).total_seconds(), _LEAST_DELAY_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(delay, self._update)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

"""One TUI that no gateway watches, seen from here: the same looks and the same belief as a gateway's."""

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
#: A clock that is set while we wait must not make us spin.
_LEAST_DELAY_SECONDS = 0.01


class Eye:
    """What is believed of one TUI from `open` to `close`."""

    def __init__(self, adapter: AgentAdapter, tool: Tool, *, now: Callable[[], datetime] = clock.now) -> None:
        self.adapter = adapter
        #: Held by whoever gives it a prompt from here, from before it is ready until it was typed.
        self.giving = asyncio.Lock()
        self._tool = tool
        self._timings = TrackingTimings()
        self._now = now
        self._belief = tracker.initial(now())
        self._transitions: deque[Transition] = deque(maxlen=MAX_TRANSITIONS)
        self._timer: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        await self.adapter.open(self._seen)

    async def close(self) -> None:
        """Look no more. The agent goes on."""
        self._rest()
        await self.adapter.close()

    async def look(self) -> Terminal:
        """The terminal after a fresh look."""
        await self.adapter.look()
        self._seen()
        return Terminal.of_belief(
            self._belief,
            self._tool.name,
            at=self._now(),
            timings=self._timings,
            transitions=self._transitions,
        )

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Believe that a turn begins with the prompt that the body types, unless nothing was typed."""
        self._believe(tracker.note(self._belief, at=self._now()))
        try:
            yield
        except AgentBusy:
            self._believe(
                tracker.withdraw(
                    self._belief, at=self._now(), timings=self._timings, testimony=self._tool.testimony
                )
            )
            raise

    def _seen(self) -> None:
        """Take in what the adapter shows now."""
        if (sight := self.adapter.sight) is not None:
            self._believe(
                tracker.see(
                    self._belief, sight, at=self._now(), timings=self._timings, testimony=self._tool.testimony
                )
            )

    def _believe(self, belief: tracker.Belief) -> None:
        if belief.transitions != self._belief.transitions:
            self._transitions.append(belief.transitions[-1])
        self._belief = belief
        self._plan()

    def _plan(self) -> None:
        """Judge again when time alone may change the belief, and not before."""
        self._rest()
        now = self._now()
        due_at = tracker.next_at(self._belief, at=now, timings=self._timings)
        if due_at is not None:
            delay = max((due_at - now).total_seconds(), _LEAST_DELAY_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(delay, self._seen)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

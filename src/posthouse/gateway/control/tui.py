"""The TUI of one gateway as its routes show it: its inferred state, and the history of that state."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path

from posthouse import tools
from posthouse.agent import tui_view
from posthouse.agent.adapter import AgentAdapter, AgentBusy, Prompt
from posthouse.contracts import gateway_tui_http as wire
from posthouse.contracts.gateway_files import Attach, TrackingTimings
from posthouse.contracts.gateway_http import SubmitPromptPayload
from posthouse.errors import InvalidInput
from posthouse.gateway.control import tui_state_view
from posthouse.gateway.control.tui_history import TuiEventWriter
from posthouse.sessions import session as sessions
from posthouse.support import clock
from posthouse.tools.packs import catalog
from posthouse.tracking import tracker
from posthouse.tracking.tracker import TuiState

MAX_HISTORY = 1000
_WINDOW = "agent"
#: Prevents a busy loop when the system clock is set during a wait.
_MIN_DELAY_SECONDS = 0.01
#: These commands start no turn, so no prompt is recorded.
_CONTEXT_COMMANDS = ("/clear", "/new")


class TuiControl:
    """Tracks the state of the agent's screen. For a headless agent every query is refused."""

    def __init__(
        self,
        adapter: AgentAdapter,
        attach: Attach,
        timings: TrackingTimings,
        *,
        events: TuiEventWriter,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._adapter = adapter
        self._attach = attach
        self._timings = timings
        #: Writes state changes to the journal.
        self.events = events
        self._rules = tools.load(attach.backend_metadata.tool).evidence_rules
        self._timer: asyncio.TimerHandle | None = None
        self._listeners: list[Callable[[TuiState], None]] = []
        self._now = now
        self._current = tracker.initial(now())
        self._history: deque[tuple[datetime, TuiState]] = deque(maxlen=MAX_HISTORY)

    @property
    def current(self) -> TuiState:
        """The last inferred state, without a fresh observation."""
        return self._current

    def subscribe(self, listener: Callable[[TuiState], None]) -> None:
        """Call *listener* with every new state until the gateway ends."""
        self._listeners.append(listener)

    @contextmanager
    def subscribed(self, listener: Callable[[TuiState], None]) -> Iterator[None]:
        """Call *listener* with every new state during the body, after the journal was written."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def observe(self) -> None:
        """Update the state from the adapter's current observation."""
        if (observation := self._adapter.observation) is not None:
            self._update(
                tracker.observe(
                    self._current, observation, at=self._now(), timings=self._timings, rules=self._rules
                )
            )

    async def refresh(self) -> TuiState:
        """The state after a fresh observation."""
        await self._adapter.refresh()
        self.observe()
        return self._current

    def seconds_to_stability(self) -> float:
        """Seconds without change until the state counts as stable; 0 when it is stable."""
        stable_seconds = (self._now() - self._current.since).total_seconds()
        return max(self._timings.stability_threshold_seconds - max(stable_seconds, 0.0), 0.0)

    async def state(self) -> wire.TerminalState:
        """Terminal state after a fresh observation.

        Raises:
            InvalidInput: The agent is headless (`no_tui`).
        """
        self.require_tui()
        await self.refresh()
        return self._terminal_state()

    async def inferred_state(self) -> wire.TuiStateResponse:
        """Inferred state after a fresh observation, with all evidence.

        Raises:
            InvalidInput: The agent is headless (`no_tui`).
        """
        self.require_tui()
        await self.refresh()
        note = _pack_note(self._session.tool, self._session.observed_tool_version)
        return tui_state_view.state_of(self._current, self._session, at=self._now(), note=note)

    def history(self, query: wire.HistoryQuery) -> wire.SnapshotHistory:
        """The newest published states, oldest first.

        Raises:
            InvalidInput: The agent is headless (`no_tui`).
        """
        self.require_tui()
        kept = list(self._history)
        entries = kept[-query.limit :] if query.limit > 0 else kept
        session = self._session
        return wire.SnapshotHistory(
            terminal_id=session.tracked_session_id,
            tracked_session_id=session.tracked_session_id,
            entries=tuple(
                tui_view.snapshot_of(state, session.tool, at=at, timings=self._timings)
                for at, state in entries
            ),
        )

    async def note_prompt(self, payload: SubmitPromptPayload) -> wire.TerminalState:
        """Record a prompt that reached the agent outside this gateway.

        Raises:
            InvalidInput: The agent is headless (`no_tui`).
        """
        self.require_tui()
        self._record_prompt()
        return self._terminal_state()

    async def track_prompt(self, prompt: Prompt, deliver: Callable[[], Awaitable[None]]) -> None:
        """Record *prompt* and call *give* to type it. On `AgentBusy` the record is withdrawn."""
        if self._adapter.is_headless or prompt.text.strip() in _CONTEXT_COMMANDS:
            await deliver()
            return
        # An earlier turn's end must not count as the end of this prompt.
        await self.refresh()
        self._record_prompt()
        try:
            await deliver()
        except AgentBusy:
            self._withdraw_prompt()
            raise
        await self.refresh()

    def _record_prompt(self) -> None:
        at = self._now()
        before, self._current = self._current, tracker.note_prompt(self._current, at=at)
        self._history.append((at, self._current))
        self._notify(before)

    def _withdraw_prompt(self) -> None:
        self._update(
            tracker.withdraw_prompt(self._current, at=self._now(), timings=self._timings, rules=self._rules)
        )

    def _update(self, state: TuiState) -> None:
        has_changed = state.facts != self._current.facts or not self._history
        before, self._current = self._current, state
        if has_changed:
            self._history.append((self._now(), state))
        self._notify(before)

    def _notify(self, before: TuiState) -> None:
        self.events.record(before, self._current)
        self._schedule()
        for listener in tuple(self._listeners):
            listener(self._current)

    def _schedule(self) -> None:
        """Schedule the next observation for when time alone may change the state."""
        self.close()
        now = self._now()
        due_at = tracker.next_at(self._current, at=now, timings=self._timings)
        if due_at is None:
            self._timer = None
            return
        delay = max((due_at - now).total_seconds(), _MIN_DELAY_SECONDS)
        self._timer = asyncio.get_running_loop().call_later(delay, self.observe)

    def _terminal_state(self) -> wire.TerminalState:
        return tui_view.state_of(self._current, self._session, at=self._now(), timings=self._timings)

    def require_tui(self) -> None:
        """Check that the agent is a TUI.

        Raises:
            InvalidInput: It is headless (`no_tui`).
        """
        if self._adapter.is_headless:
            raise InvalidInput(
                "this agent is headless and has no TUI; /v1/control/headless/state shows it", code="no_tui"
            )

    @cached_property
    def _session(self) -> wire.TrackedSession:
        attach = self._attach
        identity = attach.runtime_session_id or attach.attach_identity
        path = None if attach.manifest_path is None else Path(attach.manifest_path)
        manifest = None if path is None else sessions.read(path).manifest
        return wire.TrackedSession(
            tracked_session_id=identity,
            session_name=identity,
            tool=attach.backend_metadata.tool,
            observed_tool_version=None if manifest is None else manifest.tool_version,
            tmux_session_name=attach.tmux_session_name,
            tmux_window_name=_WINDOW,
            agent_name=None if manifest is None else manifest.agent_name,
            agent_id=None if manifest is None else manifest.agent_id,
            manifest_path=attach.manifest_path,
            session_root=None if path is None else str(path.parent),
        )


def _pack_note(tool: str, version: str | None) -> str | None:
    """Note about the screen pack in use; None when it was made for this version."""
    try:
        served = catalog.pack_for(tool, version)
    except catalog.NoPack:
        return None
    return served.description if served.is_nearest else None

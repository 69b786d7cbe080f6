"""The TUI of one gateway as its routes show it: the belief now, and what was believed before."""

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
from posthouse.gateway.control.tui_history import TuiStory
from posthouse.sessions import session as sessions
from posthouse.support import clock
from posthouse.tools.packs import catalog
from posthouse.tracking import tracker
from posthouse.tracking.tracker import Belief

MAX_HISTORY = 1000
_WINDOW = "agent"
#: A clock that is set while we wait must not make us spin.
_LEAST_DELAY_SECONDS = 0.01
#: They start no turn, so there is none to note.
_CONTEXT_COMMANDS = ("/clear", "/new")


class NoTui(InvalidInput):
    """The agent is headless; nothing tracks a screen."""

    code = "no_tui"

    def __init__(self) -> None:
        super().__init__("this agent is headless and has no TUI; /v1/control/headless/state shows it")


class TuiControl:
    """What is known of the agent's screen. Of a headless agent nothing is, and every question is refused."""

    def __init__(
        self,
        adapter: AgentAdapter,
        attach: Attach,
        timings: TrackingTimings,
        *,
        story: TuiStory,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._adapter = adapter
        self._attach = attach
        self._timings = timings
        #: What the journal is told.
        self.story = story
        self._testimony = tools.load(attach.backend_metadata.tool).testimony
        self._timer: asyncio.TimerHandle | None = None
        self._listeners: list[Callable[[Belief], None]] = []
        self._now = now
        self._belief = tracker.initial(now())
        self._history: deque[tuple[datetime, Belief]] = deque(maxlen=MAX_HISTORY)

    @property
    def believed(self) -> Belief:
        """What was last believed. Asks nobody."""
        return self._belief

    def listen(self, listener: Callable[[Belief], None]) -> None:
        """Let *listener* hear of every new belief for as long as the gateway lives."""
        self._listeners.append(listener)

    @contextmanager
    def telling(self, listener: Callable[[Belief], None]) -> Iterator[None]:
        """Let *listener* hear of every new belief during the body, after the journal did."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def close(self) -> None:
        """Let no time pass any more."""
        if self._timer is not None:
            self._timer.cancel()

    def seen(self) -> None:
        """Take in what the adapter shows now."""
        if (sight := self._adapter.sight) is not None:
            self._believe(
                tracker.see(
                    self._belief, sight, at=self._now(), timings=self._timings, testimony=self._testimony
                )
            )

    async def look(self) -> Belief:
        """The belief after a fresh look."""
        await self._adapter.look()
        self.seen()
        return self._belief

    def seconds_to_stability(self) -> float:
        """How long the belief has to stay as it is until it counts as stable; 0 when it does."""
        stood = (self._now() - self._belief.since).total_seconds()
        return max(self._timings.stability_threshold_seconds - max(stood, 0.0), 0.0)

    async def state(self) -> wire.TerminalState:
        """How the TUI stands now.

        Raises:
            NoTui: The agent is headless.
        """
        self.require()
        await self.look()
        return self._state()

    async def belief(self) -> wire.TuiBelief:
        """What the TUI is believed to do now, with all evidence.

        Raises:
            NoTui: The agent is headless.
        """
        self.require()
        await self.look()
        note = _about_pack(self._session.tool, self._session.observed_tool_version)
        return tui_state_view.belief_of(self._belief, self._session, at=self._now(), note=note)

    def history(self, query: wire.HistoryQuery) -> wire.SnapshotHistory:
        """The newest published beliefs, oldest first.

        Raises:
            NoTui: The agent is headless.
        """
        self.require()
        kept = list(self._history)
        entries = kept[-query.limit :] if query.limit > 0 else kept
        session = self._session
        return wire.SnapshotHistory(
            terminal_id=session.tracked_session_id,
            tracked_session_id=session.tracked_session_id,
            entries=tuple(
                tui_view.snapshot_of(belief, session.tool, at=at, timings=self._timings)
                for at, belief in entries
            ),
        )

    async def note_prompt(self, payload: SubmitPromptPayload) -> wire.TerminalState:
        """Take note that somebody gave the agent a prompt by another way.

        Raises:
            NoTui: The agent is headless.
        """
        self.require()
        self._note()
        return self._state()

    async def noting(self, prompt: Prompt, give: Callable[[], Awaitable[None]]) -> None:
        """Let *give* type *prompt*, and note it. What turns out not to have been typed is not noted."""
        if self._adapter.is_headless or prompt.text.strip() in _CONTEXT_COMMANDS:
            await give()
            return
        # What ended before must not be taken for the end of this prompt.
        await self.look()
        self._note()
        try:
            await give()
        except AgentBusy:
            self._withdraw()
            raise
        await self.look()

    def _note(self) -> None:
        at = self._now()
        before, self._belief = self._belief, tracker.note(self._belief, at=at)
        self._history.append((at, self._belief))
        self._tell(before)

    def _withdraw(self) -> None:
        self._believe(
            tracker.withdraw(self._belief, at=self._now(), timings=self._timings, testimony=self._testimony)
        )

    def _believe(self, belief: Belief) -> None:
        is_news = belief.facts != self._belief.facts or not self._history
        before, self._belief = self._belief, belief
        if is_news:
            self._history.append((self._now(), belief))
        self._tell(before)

    def _tell(self, before: Belief) -> None:
        self.story.tell(before, self._belief)
        self._plan()
        for listener in tuple(self._listeners):
            listener(self._belief)

    def _plan(self) -> None:
        """Look at the belief again when time alone may change it, and not before."""
        self.close()
        now = self._now()
        due_at = tracker.next_at(self._belief, at=now, timings=self._timings)
        if due_at is None:
            self._timer = None
            return
        delay = max((due_at - now).total_seconds(), _LEAST_DELAY_SECONDS)
        self._timer = asyncio.get_running_loop().call_later(delay, self.seen)

    def _state(self) -> wire.TerminalState:
        return tui_view.state_of(self._belief, self._session, at=self._now(), timings=self._timings)

    def require(self) -> None:
        """Return when the agent is a TUI.

        Raises:
            NoTui: It is headless.
        """
        if self._adapter.is_headless:
            raise NoTui

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


def _about_pack(tool: str, version: str | None) -> str | None:
    """What is to be said of the pack that reads the screens; None: it was made for this version."""
    try:
        served = catalog.pack_for(tool, version)
    except catalog.NoPack:
        return None
    return served.sentence if served.is_nearest else None

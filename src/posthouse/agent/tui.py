"""A TUI in its pane: prompts are typed, and each submission is confirmed."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from posthouse import tools
from posthouse.agent import acknowledgement
from posthouse.agent.adapter import (
    AgentBusy,
    AgentGone,
    AgentStatus,
    OnProgress,
    Prompt,
    PromptFailed,
    PromptProgress,
    PromptResult,
    PromptUnconfirmed,
    RunningTurn,
    ignore_progress,
)
from posthouse.agent.tui_watch import TuiWatch, instance_of
from posthouse.errors import Unavailable
from posthouse.sessions.session import Session
from posthouse.support import locks
from posthouse.support.supervision import Supervisor
from posthouse.terminal.delivery import DeliveryTimeouts, PaneWriter
from posthouse.terminal.keys import Key, LiteralText
from posthouse.terminal.paste import pasteable
from posthouse.terminal.screen_wait import ScreenWaiter
from posthouse.tools.tool import Exchange, Tool
from posthouse.tracking.observation import Observation

#: A TUI shows its turn shortly after it accepted the prompt.
_TURN_VISIBLE_SECONDS = 2.0
_POLL_SECONDS = 0.1
#: Raw keys wait no longer than this for another program's paste.
_KEYS_TIMEOUTS = DeliveryTimeouts(lock=2.0)


class _TuiTurn:
    """The running turn of a TUI."""

    turn_id: str | None = None

    def __init__(self, writer: PaneWriter) -> None:
        self._writer = writer

    async def interrupt(self) -> bool:
        return await self._writer.interrupt()


class TuiAdapter:
    """One TUI."""

    is_headless = False

    def __init__(self, session: Session, background: Supervisor | None = None) -> None:
        self._tool: Tool = tools.load(session.manifest.tool)
        self._watch = TuiWatch(session, self._tool, background)
        self._connection = self._watch.connection
        #: Loop time until which a submitted turn may not be visible on the screen yet.
        self._turn_expected_until = 0.0

    @property
    def status(self) -> AgentStatus:
        return self._watch.status

    @property
    def observation(self) -> Observation | None:
        return self._watch.observation

    async def open(self, on_change: Callable[[], None]) -> None:
        await self._watch.open(on_change)

    async def refresh(self) -> AgentStatus:
        return await self._watch.refresh()

    async def wait_ready(self) -> None:
        writer = self._require_present()
        try:
            surface = await writer.wait_ready(None)
        except Unavailable as error:
            raise AgentGone(str(error)) from error
        if surface.state == "exited":
            raise AgentGone("its program ended")

    async def execute(
        self, prompt: Prompt, *, while_busy: bool = False, on_progress: OnProgress = ignore_progress
    ) -> None:
        if prompt.chat_mode is not None:
            raise PromptFailed("chat_session is for headless agents; this one is a TUI")
        writer = self._require_present()
        await self._require_program(prompt.instance_id or self.status.instance_id)
        self._turn_expected_until = float("inf")
        try:
            acknowledged_by = await asyncio.to_thread(self._acknowledgement, prompt.text)
            with acknowledgement.wake_on_hook(self._connection.session, writer.nudge):
                delivery = await writer.submit(
                    prompt.text,
                    acknowledged=acknowledged_by.check,
                    while_busy=while_busy,
                    on_typed=lambda: on_progress(
                        PromptProgress(stage="typed", evidence={"source": "terminal"})
                    ),
                )
        finally:
            self._turn_expected_until = asyncio.get_running_loop().time() + _TURN_VISIBLE_SECONDS
        if delivery.outcome == "refused":
            raise AgentBusy(f"nothing was typed: {delivery.reason}")
        if delivery.outcome == "unknown":
            raise PromptUnconfirmed(
                f"the prompt was typed, but nothing proves that the agent took it: {delivery.reason}"
            )
        signs = {"source": "screen", "signs": list(delivery.evidence)}
        on_progress(PromptProgress(stage="submitted", evidence=signs))
        if acknowledged_by.evidence is not None:
            on_progress(PromptProgress(stage="acknowledged", evidence=acknowledged_by.evidence))
        if acknowledged_by.is_command:
            on_progress(PromptResult(outcome="completed", evidence=signs))

    async def send_keys(self, parts: Sequence[LiteralText | Key]) -> None:
        self._require_present()
        pane = await self._connection.agent_pane()
        if pane is None or self._connection.client is None:
            raise AgentGone(self._connection.reason)
        lock_path = self._connection.session.pane_lock
        writer = PaneWriter(
            self._connection.client, pane.pane_id, self._tool, lock_path=lock_path, timeouts=_KEYS_TIMEOUTS
        )
        try:
            await writer.press(parts)
        except locks.LockHeld as error:
            raise AgentBusy(
                f"process {error.holder} is typing into this agent; try again in a moment"
            ) from error

    async def running_turn(self) -> RunningTurn | None:
        try:
            writer = self._require_present()
            is_active = (await writer.surface()).is_working or await self._starts_turn()
        except Unavailable:
            return None
        return _TuiTurn(writer) if is_active else None

    async def turn_result(self, turn_id: str) -> PromptResult | None:
        """Always None: a TUI's turns do not outlive a gateway as files."""
        return None

    async def exchanges(self) -> Sequence[Exchange]:
        manifest = self._connection.session.manifest
        home = Path(manifest.launch_plan.home_selector.home_path)
        return await asyncio.to_thread(self._tool.exchanges, home, Path(manifest.working_directory))

    async def close(self) -> None:
        await self._watch.close()

    async def _starts_turn(self) -> bool:
        """Wait up to 2 s for a prompt that was just typed to show as a turn."""
        if asyncio.get_running_loop().time() > self._turn_expected_until:
            return False
        pane = await self._connection.agent_pane()
        if pane is None or self._connection.client is None:
            return False
        watch = ScreenWaiter(self._connection.client, pane.pane_id, self._tool.read_surface)
        active = await watch.until(
            lambda _, surface: surface if surface.is_working else None,
            seconds=_TURN_VISIBLE_SECONDS,
            poll_seconds=_POLL_SECONDS,
        )
        return active is not None

    async def _require_program(self, instance_id: str | None) -> None:
        """Check that the pane still runs that program: a replacement is noticed with a delay and must not
        receive this prompt."""
        pane = await self._connection.agent_pane()
        if pane is None or pane.dead or instance_of(pane) != instance_id:
            raise AgentBusy("nothing was typed: another program replaced the agent")

    def _require_present(self) -> PaneWriter:
        client, pane = self._connection.client, self._watch.pane
        if client is None or pane is None or self.status.connectivity == "unavailable":
            raise AgentGone(self.status.detail)
        return PaneWriter(client, pane.pane_id, self._tool, lock_path=self._connection.session.pane_lock)

    def _acknowledgement(self, prompt: str) -> acknowledgement.Acknowledgement:
        typed = pasteable(self._tool.escape_prompt(prompt))
        if typed.startswith("/"):
            # A command: `escape_prompt` escapes every other slash. Commands appear in no transcript, so the
            # emptied composer is the only evidence.
            return acknowledgement.AssumedAcknowledgement()
        return acknowledgement.PromptAcknowledgement(self._tool, self._connection.session, typed)

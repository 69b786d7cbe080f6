"""State of a headless agent, and which conversation its next prompt continues."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from posthouse.agent.chat_view import chat_state
from posthouse.contracts import gateway_control_http as wire
from posthouse.contracts.manifest import Headless
from posthouse.errors import InvalidInput, PosthouseError, Unavailable
from posthouse.gateway.context import GatewayContext
from posthouse.sessions import session as sessions


class ManifestUnreadable(Unavailable):
    """The session's manifest can't be read, so its conversations are unknown."""

    code = "manifest_unreadable"


class HeadlessControl:
    """Reports a headless agent's state and keeps the one-shot conversation override of its next prompt."""

    def __init__(self, gateway: GatewayContext, *, direct_turn_id: Callable[[], str | None]) -> None:
        self._gateway = gateway
        #: The turn id of a direct prompt that was admitted and has not ended.
        self._direct_turn_id = direct_turn_id
        self._starts_new = False

    async def state(self) -> wire.HeadlessControlState:
        """Current state and which operations it allows.

        Raises:
            InvalidInput: The agent is a TUI (`not_headless`).
            ManifestUnreadable: The session's manifest can't be read.
        """
        headless = await self.read_conversations()
        turn_id = await self._active_turn_id()
        status = self._gateway.status()
        is_live = status.managed_agent_connectivity == "connected"
        is_idle = status.active_execution == "idle" and turn_id is None
        return wire.HeadlessControlState(
            runtime_resumable=is_live,
            tmux_session_live=is_live,
            can_accept_prompt_now=is_live and status.request_admission == "open" and is_idle,
            interruptible=not is_idle,
            chat_session=chat_state(headless, starts_new=self._starts_new),
            request_admission=status.request_admission,
            active_execution=status.active_execution,
            queue_depth=status.queue_depth,
            active_turn_id=turn_id,
        )

    async def override_next_prompt(self, _: wire.NextPromptSession) -> wire.HeadlessControlState:
        """Make the next direct prompt without a chat_session start a new conversation. Lost on restart.

        Raises:
            InvalidInput, ManifestUnreadable: As `state`; nothing was changed.
        """
        await self.read_conversations()
        self._starts_new = True
        return await self.state()

    def take_override(self) -> bool:
        """Return and clear the override: whether the prompt being admitted starts a new conversation."""
        was_set, self._starts_new = self._starts_new, False
        return was_set

    async def read_conversations(self) -> Headless:
        """Read the agent's conversations from the manifest.

        Raises:
            InvalidInput, ManifestUnreadable: As `state`.
        """
        path = self._gateway.attach.manifest_path
        if not self._gateway.adapter.is_headless:
            raise InvalidInput("this agent is a TUI; /v1/control/tui/state shows it", code="not_headless")
        if path is None:
            raise ManifestUnreadable("the session names no manifest")
        try:
            session = await asyncio.to_thread(sessions.read, Path(path))
        except PosthouseError as error:
            raise ManifestUnreadable(str(error)) from error
        if session.manifest.headless is None:
            raise InvalidInput("the session's manifest has no headless section", code="not_headless")
        return session.manifest.headless

    async def _active_turn_id(self) -> str | None:
        """The turn that runs or was admitted, from any source."""
        known = self._direct_turn_id() or await self._gateway.queue.open_turn_id()
        if known is not None:
            return known
        running = await self._gateway.adapter.running_turn()
        return None if running is None else running.turn_id

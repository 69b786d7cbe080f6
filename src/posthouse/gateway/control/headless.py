"""What a headless agent can be asked right now, and which conversation the next prompt continues."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from posthouse.agent.chat_view import chat_state
from posthouse.contracts import gateway_control_http as wire
from posthouse.contracts.manifest import Headless
from posthouse.errors import InvalidInput, PosthouseError, Unavailable
from posthouse.gateway.context import Surroundings
from posthouse.sessions import session as sessions


class NotHeadless(InvalidInput):
    """The agent is a TUI, or its manifest has no headless section."""

    code = "not_headless"


class ManifestUnreadable(Unavailable):
    """Nobody can say which conversations there are."""

    code = "manifest_unreadable"


class HeadlessControl:
    """The state of a headless agent, and the one-shot override of its next prompt's conversation."""

    def __init__(self, gateway: Surroundings, *, direct_turn_id: Callable[[], str | None]) -> None:
        self._gateway = gateway
        #: The turn of a direct prompt that was admitted and has not ended.
        self._direct_turn_id = direct_turn_id
        self._starts_new = False

    async def state(self) -> wire.HeadlessControlState:
        """What can be asked now.

        Raises:
            NotHeadless: The agent is a TUI.
            ManifestUnreadable: The session's manifest can't be read.
        """
        headless = await self.chats()
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

    async def override(self, _: wire.NextPromptSession) -> wire.HeadlessControlState:
        """Let the next direct prompt that asks for no conversation start a new one. Forgotten on restart.

        Raises:
            NotHeadless, ManifestUnreadable: As `state`; nothing was changed.
        """
        await self.chats()
        self._starts_new = True
        return await self.state()

    def take_override(self) -> bool:
        """Whether the prompt that is being admitted starts a new conversation. It is asked once."""
        was_set, self._starts_new = self._starts_new, False
        return was_set

    async def chats(self) -> Headless:
        """What the manifest says of the agent's conversations now.

        Raises:
            NotHeadless, ManifestUnreadable: As `state`.
        """
        path = self._gateway.attach.manifest_path
        if not self._gateway.adapter.is_headless:
            raise NotHeadless("this agent is a TUI; /v1/control/tui/state shows it")
        if path is None:
            raise ManifestUnreadable("the session names no manifest")
        try:
            session = await asyncio.to_thread(sessions.read, Path(path))
        except PosthouseError as error:
            raise ManifestUnreadable(str(error)) from error
        if session.manifest.headless is None:
            raise NotHeadless("the session's manifest has no headless section")
        return session.manifest.headless

    async def _active_turn_id(self) -> str | None:
        """The turn that runs or was admitted, whoever asked for it."""
        known = self._direct_turn_id() or await self._gateway.queue.open_turn_id()
        if known is not None:
            return known
        running = await self._gateway.adapter.running_turn()
        return None if running is None else running.turn_id

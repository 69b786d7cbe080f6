"""Prompts and interrupts for TUIs: through a live gateway, else typed directly."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from posthouse.agent.adapter import AgentBusy, Prompt, PromptFailed
from posthouse.errors import Unavailable
from posthouse.gateway_lifecycle import gateway_lock
from posthouse.server.gateways import Gateways, LiveGateway, NoLiveGateway, gateway_root
from posthouse.server.member import Member
from posthouse.server.observation import gateway_state
from posthouse.server.observation.tui_observer import TuiObserver
from posthouse.server.observation.tui_observers import TuiObservers
from posthouse.server.requests import gateway as gateway_requests
from posthouse.server.turns.agent_turns import NOT_OPERABLE
from posthouse.sessions.session import Session

#: How long a prompt without a gateway waits for a busy agent.
READY_SECONDS = 20.0


class TuiRequests:
    """Requests to TUIs."""

    def __init__(
        self, gateways: Gateways, observers: TuiObservers, *, ready_seconds: float = READY_SECONDS
    ) -> None:
        self._gateways = gateways
        self._observers = observers
        self._ready_seconds = ready_seconds

    async def prompt(self, member: Member, session: Session, text: str) -> str:
        """Deliver a prompt and describe the result: stored by the gateway, or accepted by the agent.

        Raises:
            InvalidInput: The prompt is invalid.
            Unavailable, NoLiveGateway: The agent or its gateway does not accept it now.
            AgentGone: Its program or its terminal has ended.
            GatewayLost, BadGatewayResponse: The gateway gave no valid response.
        """
        gateway = await self._gateway(member)
        if gateway is not None:
            return await _queued(gateway, text)
        async with self._observers.observe(session) as observer, self._ready(member, observer):
            # A gateway attached meanwhile takes precedence.
            gateway = await self._gateway(member)
            if gateway is not None:
                return await _queued(gateway, text)
            await _type(member, observer, text)
        return "accepted by the agent; no gateway was involved"

    async def interrupt(self, member: Member, session: Session) -> str | None:
        """Interrupt the agent and describe the result; None when it was idle.

        Raises:
            As `prompt`.
        """
        gateway = await self._gateway(member)
        if gateway is None:
            return await self._interrupt_directly(session)
        if not await _is_active(member, gateway):
            return None
        return f"interrupt accepted by the gateway as {await gateway_requests.interrupt(gateway)}"

    async def _gateway(self, member: Member) -> LiveGateway | None:
        """The gateway that owns the session; None without one.

        Raises:
            NoLiveGateway: A gateway owns the session but is unusable, so the server must not type.
        """
        try:
            return await self._gateways.require(member)
        except NoLiveGateway:
            if await asyncio.to_thread(gateway_lock.holder_of, gateway_root(member)) is not None:
                raise
            return None

    async def _interrupt_directly(self, session: Session) -> str | None:
        async with self._observers.observe(session) as observer:
            await observer.refresh()
            turn = await observer.adapter.running_turn()
            did = turn is not None and await turn.interrupt()
        return "interrupted; no gateway was involved" if did else None

    @asynccontextmanager
    async def _ready(self, member: Member, observer: TuiObserver) -> AsyncIterator[None]:
        """Run the body when the agent accepts a prompt; prompts of this server are serialized."""
        try:
            async with asyncio.timeout(self._ready_seconds):
                await observer.prompt_lock.acquire()
        except TimeoutError:
            raise self._busy(member, "earlier prompts were waiting") from None
        try:
            await self._wait_ready(member, observer)
            yield
        finally:
            observer.prompt_lock.release()

    async def _wait_ready(self, member: Member, observer: TuiObserver) -> None:
        seen = await observer.refresh()
        try:
            async with asyncio.timeout(self._ready_seconds):
                await observer.adapter.wait_ready()
        except TimeoutError:
            shown = seen.parsed_surface
            raise self._busy(member, shown.business_state if shown else "unknown state") from None

    def _busy(self, member: Member, reason: str) -> Unavailable:
        return Unavailable(
            f"agent {member.record.agent_name!r} was not ready within {self._ready_seconds:g} s ({reason}); "
            "nothing was typed; with a gateway attached, prompts wait in its queue",
            code=NOT_OPERABLE,
        )


async def _queued(gateway: LiveGateway, text: str) -> str:
    return f"accepted by the gateway as {await gateway_requests.prompt(gateway, text)}"


async def _type(member: Member, observer: TuiObserver, text: str) -> None:
    name = member.record.agent_name
    try:
        await observer.refresh()
        with observer.note_prompt():
            await observer.adapter.execute(Prompt(text=text))
    except (AgentBusy, PromptFailed) as error:
        raise Unavailable(f"agent {name!r}: {error}", code=NOT_OPERABLE) from error


async def _is_active(member: Member, gateway: LiveGateway) -> bool:
    """Whether a turn is visible on the screen or a prompt is being typed."""
    status = await gateway_state.status(member, gateway)
    terminal = await gateway_state.terminal(member, gateway)
    return status.active_execution == "running" or terminal.turn.phase == "active"

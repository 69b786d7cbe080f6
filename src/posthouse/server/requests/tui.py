"""Prompts and interrupts for TUIs: through the gateway where one lives, else typed from here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from posthouse.agent.adapter import AgentBusy, Prompt, PromptFailed
from posthouse.gateway_lifecycle import gateway_lock
from posthouse.server.gateways import Gateways, LiveGateway, NoLiveGateway, root_of
from posthouse.server.member import Member
from posthouse.server.observation import gateway_state
from posthouse.server.observation.tui_observer import Eye
from posthouse.server.observation.tui_observers import Eyes
from posthouse.server.requests import gateway as gateways_door
from posthouse.server.turns.agent_turns import NotOperable
from posthouse.sessions.session import Session

#: How long a prompt waits for a busy agent that no gateway queues for.
READY_SECONDS = 20.0


class TuiRequests:
    """What TUIs are asked."""

    def __init__(self, gateways: Gateways, eyes: Eyes, *, ready_seconds: float = READY_SECONDS) -> None:
        self._gateways = gateways
        self._eyes = eyes
        self._ready_seconds = ready_seconds

    async def prompt(self, member: Member, session: Session, text: str) -> str:
        """What happened, in words: the gateway has it on disk, or the agent took it.

        Raises:
            Refused, InvalidInput: Such a prompt can't be given.
            NotOperable, NoLiveGateway: The agent or its gateway does not take it now.
            AgentGone: Its program or its terminal is not there.
            GatewayLost, GatewayGarbled: The gateway did not answer.
        """
        gateway = await self._gateway(member)
        if gateway is not None:
            return await _queued(gateway, text)
        async with self._eyes.on(session) as eye, self._ready(member, eye):
            # Whoever attached one meanwhile wants it to be asked.
            gateway = await self._gateway(member)
            if gateway is not None:
                return await _queued(gateway, text)
            await _type(member, eye, text)
        return "the agent took it; no gateway was asked"

    async def interrupt(self, member: Member, session: Session) -> str | None:
        """What happened, in words; None when it was not doing anything.

        Raises:
            As `prompt`.
        """
        gateway = await self._gateway(member)
        if gateway is None:
            return await self._interrupted(session)
        if not await _works(member, gateway):
            return None
        return f"interrupt accepted by the gateway as {await gateways_door.interrupt(gateway)}"

    async def _gateway(self, member: Member) -> LiveGateway | None:
        """The gateway that has to be asked; None when the session has none.

        Raises:
            NoLiveGateway: One owns the session, and can't be asked: nobody else may type meanwhile.
        """
        try:
            return await self._gateways.needed(member)
        except NoLiveGateway:
            if await asyncio.to_thread(gateway_lock.holder_of, root_of(member)) is not None:
                raise
            return None

    async def _interrupted(self, session: Session) -> str | None:
        async with self._eyes.on(session) as eye:
            await eye.look()
            turn = await eye.adapter.running_turn()
            did = turn is not None and await turn.interrupt()
        return "interrupted; no gateway was asked" if did else None

    @asynccontextmanager
    async def _ready(self, member: Member, eye: Eye) -> AsyncIterator[None]:
        """The body runs when the agent takes a prompt and no other from here is before it."""
        try:
            async with asyncio.timeout(self._ready_seconds):
                await eye.giving.acquire()
        except TimeoutError:
            raise self._busy(member, "other prompts were before this one") from None
        try:
            await self._wait_ready(member, eye)
            yield
        finally:
            eye.giving.release()

    async def _wait_ready(self, member: Member, eye: Eye) -> None:
        seen = await eye.look()
        try:
            async with asyncio.timeout(self._ready_seconds):
                await eye.adapter.wait_ready()
        except TimeoutError:
            shown = seen.parsed_surface
            raise self._busy(member, shown.business_state if shown else "nobody knows with what") from None

    def _busy(self, member: Member, why: str) -> NotOperable:
        return NotOperable(
            f"agent {member.record.agent_name!r} was not ready within {self._ready_seconds:g} s ({why}); "
            "nothing was typed; with a gateway attached, prompts wait in its queue"
        )


async def _queued(gateway: LiveGateway, text: str) -> str:
    return f"accepted by the gateway as {await gateways_door.prompt(gateway, text)}"


async def _type(member: Member, eye: Eye, text: str) -> None:
    name = member.record.agent_name
    try:
        await eye.look()
        with eye.noting():
            await eye.adapter.carry_out(Prompt(text=text))
    except (AgentBusy, PromptFailed) as error:
        raise NotOperable(f"agent {name!r}: {error}") from error


async def _works(member: Member, gateway: LiveGateway) -> bool:
    """Whether there is something to interrupt: a turn on the screen, or a prompt that is being typed."""
    status = await gateway_state.status(member, gateway)
    terminal = await gateway_state.terminal(member, gateway)
    return status.active_execution == "running" or terminal.turn.phase == "active"

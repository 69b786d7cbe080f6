"""Headless turns of all agents: the service behind the routes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from posthouse.agent.adapter import Prompt
from posthouse.contracts import managed_agent_files as mf
from posthouse.contracts.gateway_http import ChatSelector, Execution
from posthouse.errors import InvalidInput, NotFound, PosthouseError, Unavailable
from posthouse.server.gateways import LiveGateway
from posthouse.server.member import Member
from posthouse.server.turns.agent_history import AgentHistory
from posthouse.server.turns.agent_turns import NOT_OPERABLE, AgentTurns
from posthouse.server.turns.authority import authority_of
from posthouse.server.turns.follower import OnTurnEvent, TurnFollower
from posthouse.server.turns.store import TurnStore
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support.supervision import Supervisor
from posthouse.terminal import session as terminal

#: Limit of recovery at start-up; unfinished recoveries continue in the background.
_RECOVERY_SECONDS = 5.0


class HeadlessTurns:
    """The turns of every headless agent of one server."""

    def __init__(
        self,
        store: TurnStore,
        log: logging.Logger,
        *,
        is_live: Callable[[Member], bool],
        gateway_of: Callable[[str], Awaitable[LiveGateway | None]],
        on_event: OnTurnEvent,
        background: Supervisor | None = None,
    ) -> None:
        self._background = background or Supervisor(log)
        self._store = store
        self._log = log
        self._is_live = is_live
        self._gateway_of = gateway_of
        self._on_event = on_event
        self._agents: dict[str, AgentTurns] = {}

    async def open(self) -> None:
        """Recover the turns that an earlier server left."""
        left = await asyncio.to_thread(self._store.agents)
        recoveries = [
            self._background.supervise(f"recovery of agent {agent}", self._turns_of(agent).recover)
            for agent in left
        ]
        if recoveries:
            await asyncio.wait(recoveries, timeout=_RECOVERY_SECONDS)

    async def close(self) -> None:
        await asyncio.gather(*(agent.close() for agent in self._agents.values()))

    async def submit(
        self,
        member: Member,
        prompt: str,
        *,
        chat_session: ChatSelector | None = None,
        execution: Execution | None = None,
        turn_id: str | None = None,
    ) -> mf.TurnRecord:
        """Run a turn. When this returns it is recorded, and has started or been accepted by the gateway.

        Only the gateway passes a *turn_id*, which is an idempotency key: the turn is started here, once.

        Raises:
            InvalidInput: The agent is a TUI.
            Unavailable: The agent does not run, or its manifest is unreadable.
            And as `AgentTurns.submit`.
        """
        session = await self._operable(member)
        await self._adopt(member, session)
        model = execution.model if execution else None
        order = Prompt(
            text=prompt,
            turn_id=turn_id,
            chat_mode=chat_session.mode if chat_session else None,
            chat_id=chat_session.id if chat_session else None,
            model=model.name if model else None,
            reasoning_level=model.reasoning.level if model and model.reasoning else None,
        )
        turns = self._turns_of(member.tracked_agent_id)
        if turn_id is not None:
            return await turns.submit(session, order, is_from_gateway=True)
        gateway = await self._gateway_of(member.tracked_agent_id)
        if gateway is not None:
            return await turns.admit(session, order, gateway)
        return await turns.submit(session, order)

    async def interrupt(self, member: Member) -> mf.TurnRecord | None:
        """Interrupt the running turn of any process; None when none runs.

        Raises:
            InvalidInput: The agent is a TUI.
        """
        _require_headless(member)
        return await self._turns_of(member.tracked_agent_id).interrupt(await self._session(member))

    async def active(self, member: Member) -> mf.TurnRecord | None:
        """The running turn, including one that the server did not start."""
        return await self._history(member).running(await self._session(member))

    async def last(self, member: Member) -> mf.TurnRecord | None:
        """The newest turn that has ended."""
        newest = await self.history(member, 3)  # one may be active, and one may wait at the gateway
        return next((record for record in newest if record.is_final), None)

    async def history(self, member: Member, limit: int) -> list[mf.TurnRecord]:
        """The newest turns, newest first, the active one included."""
        return await self._history(member).newest(await self._session(member), limit)

    async def find(self, member: Member, turn_id: str) -> mf.TurnRecord:
        """Raises:
        NotFound: The agent has no such turn.
        """
        record = await self._history(member).find(turn_id, await self._session(member))
        if record is None:
            raise NotFound(
                f"agent {member.record.agent_name!r} has no turn {turn_id!r}", code="turn_not_found"
            )
        return record

    async def _operable(self, member: Member) -> Session:
        _require_headless(member)
        name = member.record.agent_name
        try:
            session = await asyncio.to_thread(sessions.read, Path(member.record.runtime.manifest_path))
        except PosthouseError as error:
            raise Unavailable(f"agent {name!r} is unusable: {error}", code=NOT_OPERABLE) from error
        if not self._is_live(member) and not await self._is_there(member, session):
            raise Unavailable(f"agent {name!r} does not run: relaunch it", code=NOT_OPERABLE)
        return session

    async def _is_there(self, member: Member, session: Session) -> bool:
        """Query tmux directly: the index may lag behind for an agent that has just started."""
        if not member.is_expected_to_run:
            return False
        try:
            return await asyncio.to_thread(terminal.exists, session.tmux, session.tmux_session_name)
        except PosthouseError:
            return False

    async def _adopt(self, member: Member, session: Session) -> None:
        """Write `authority.json` before the agent's first turn on this server."""
        known = await asyncio.to_thread(self._store.authority, member.tracked_agent_id)
        if known is None or known.manifest_path != str(session.manifest_path):
            made = authority_of(member.tracked_agent_id, session, known)
            await asyncio.to_thread(self._store.write_authority, made)

    async def _session(self, member: Member) -> Session | None:
        """The agent's session from its current manifest; None when it is unreadable."""
        try:
            return await asyncio.to_thread(sessions.read, Path(member.record.runtime.manifest_path))
        except PosthouseError:
            return None

    def _history(self, member: Member) -> AgentHistory:
        return self._turns_of(member.tracked_agent_id).history

    def _turns_of(self, agent: str) -> AgentTurns:
        if agent not in self._agents:
            history = AgentHistory(agent, self._store)
            follower = TurnFollower(
                history, self._log, self._on_event, partial(self._gateway_of, agent), self._background
            )
            self._agents[agent] = AgentTurns(history, follower)
        return self._agents[agent]


def _require_headless(member: Member) -> None:
    if not member.is_headless:
        raise InvalidInput(
            f"agent {member.record.agent_name!r} has a TUI: use /requests", code="not_headless"
        )

"""Headless turns of all agents, as routes ask for them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from posthouse.agent.adapter import Prompt
from posthouse.contracts import managed_agent_files as mf
from posthouse.contracts.gateway_http import ChatSelector, Execution
from posthouse.errors import InvalidInput, PosthouseError
from posthouse.server.gateways import LiveGateway
from posthouse.server.member import Member
from posthouse.server.turns.agent_history import Book, NoSuchTurn
from posthouse.server.turns.agent_turns import AgentTurns, NotOperable
from posthouse.server.turns.authority import authority_of
from posthouse.server.turns.follower import Follower, Tell
from posthouse.server.turns.store import Store
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support.supervision import Supervisor
from posthouse.terminal import session as terminal

#: A server that starts serves after this at the latest; what is not settled by then goes on beside it.
_RECOVERY_SECONDS = 5.0


class NotHeadless(InvalidInput):
    """The agent is a TUI, and so has no turns of its own."""

    code = "not_headless"


class HeadlessTurns:
    """The turns of every headless agent of one server."""

    def __init__(
        self,
        store: Store,
        log: logging.Logger,
        *,
        is_live: Callable[[Member], bool],
        gateway_of: Callable[[str], Awaitable[LiveGateway | None]],
        tell: Tell,
        background: Supervisor | None = None,
    ) -> None:
        self._background = background or Supervisor(log)
        self._store = store
        self._log = log
        self._is_live = is_live
        self._gateway_of = gateway_of
        self._tell = tell
        self._agents: dict[str, AgentTurns] = {}

    async def open(self) -> None:
        """Find out what became of turns that an earlier server left."""
        left = await asyncio.to_thread(self._store.agents)
        recoveries = [
            self._background.keep(f"recovery of agent {agent}", self._of(agent).recover) for agent in left
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
        """Have the agent take a turn. It is recorded, and has started, or its gateway has accepted it.

        With a *turn_id* it is the gateway who asks: the turn is started here, and once, however often.

        Raises:
            NotHeadless: The agent is a TUI.
            NotOperable: It does not run, or its manifest can't be read.
            And as `AgentTurns.submit`.
        """
        session = await self._operable(member)
        await self._adopt(member, session)
        model = execution.model if execution else None
        wanted = Prompt(
            text=prompt,
            turn_id=turn_id,
            chat_mode=chat_session.mode if chat_session else None,
            chat_id=chat_session.id if chat_session else None,
            model=model.name if model else None,
            reasoning_level=model.reasoning.level if model and model.reasoning else None,
        )
        turns = self._of(member.tracked_agent_id)
        if turn_id is not None:
            return await turns.submit(session, wanted, asked_by_gateway=True)
        gateway = await self._gateway_of(member.tracked_agent_id)
        if gateway is not None:
            return await turns.admit(session, wanted, gateway)
        return await turns.submit(session, wanted)

    async def interrupt(self, member: Member) -> mf.TurnRecord | None:
        """Interrupt the turn that runs, whoever started it; None when none does.

        Raises:
            NotHeadless: The agent is a TUI.
        """
        _require_headless(member)
        return await self._of(member.tracked_agent_id).interrupt(await self._session(member))

    async def active(self, member: Member) -> mf.TurnRecord | None:
        """The turn that runs now, whoever started it."""
        return await self._book(member).running(await self._session(member))

    async def last(self, member: Member) -> mf.TurnRecord | None:
        """The newest turn that is over."""
        newest = await self.history(member, 3)  # one of them may be active, and one wait at the gateway
        return next((record for record in newest if record.is_final), None)

    async def history(self, member: Member, limit: int) -> list[mf.TurnRecord]:
        """The newest turns, newest first, the active one included."""
        return await self._book(member).newest(await self._session(member), limit)

    async def find(self, member: Member, turn_id: str) -> mf.TurnRecord:
        """Raises:
        NoSuchTurn: The agent has no such turn.
        """
        record = await self._book(member).find(turn_id, await self._session(member))
        if record is None:
            raise NoSuchTurn(f"agent {member.record.agent_name!r} has no turn {turn_id!r}")
        return record

    async def _operable(self, member: Member) -> Session:
        _require_headless(member)
        name = member.record.agent_name
        try:
            session = await asyncio.to_thread(sessions.read, Path(member.record.runtime.manifest_path))
        except PosthouseError as error:
            raise NotOperable(f"agent {name!r} can't be used: {error}") from error
        if not self._is_live(member) and not await self._is_there(member, session):
            raise NotOperable(f"agent {name!r} does not run: relaunch it")
        return session

    async def _is_there(self, member: Member, session: Session) -> bool:
        """Ask tmux itself, for an agent that has just come: news of its session may be on the way."""
        if not member.is_meant_to_run:
            return False
        try:
            return await asyncio.to_thread(terminal.exists, session.tmux, session.tmux_session_name)
        except PosthouseError:
            return False

    async def _adopt(self, member: Member, session: Session) -> None:
        """Say on disk that this server keeps the agent's turns, before the first of them."""
        known = await asyncio.to_thread(self._store.authority, member.tracked_agent_id)
        if known is None or known.manifest_path != str(session.manifest_path):
            made = authority_of(member.tracked_agent_id, session, known)
            await asyncio.to_thread(self._store.write_authority, made)

    async def _session(self, member: Member) -> Session | None:
        """The agent's session as its manifest tells it now; None when it can't be read."""
        try:
            return await asyncio.to_thread(sessions.read, Path(member.record.runtime.manifest_path))
        except PosthouseError:
            return None

    def _book(self, member: Member) -> Book:
        return self._of(member.tracked_agent_id).book

    def _of(self, agent: str) -> AgentTurns:
        if agent not in self._agents:
            book = Book(agent, self._store)
            follower = Follower(
                book, self._log, self._tell, partial(self._gateway_of, agent), self._background
            )
            self._agents[agent] = AgentTurns(book, follower)
        return self._agents[agent]


def _require_headless(member: Member) -> None:
    if not member.is_headless:
        raise NotHeadless(f"agent {member.record.agent_name!r} has a TUI: use /requests")

"""What agents are asked over `/requests`, whatever their transport."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.gateway_http import Execution
from posthouse.contracts.managed_agent_files import TurnRecord
from posthouse.contracts.manifest import LEGACY
from posthouse.errors import PosthouseError
from posthouse.server.gateways import GatewayGarbled
from posthouse.server.member import Member
from posthouse.server.requests.errors import ExecutionOnTui
from posthouse.server.requests.tui import TuiRequests
from posthouse.server.turns.agent_turns import NotOperable
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support import ids

#: Hears what became of each request. It must be quick and never fail.
Tell = Callable[[wire.ManagedAccepted], None]


class Turns(Protocol):
    """Headless turns, recorded before they start."""

    async def submit(
        self, member: Member, prompt: str, *, execution: Execution | None = None
    ) -> TurnRecord: ...

    async def interrupt(self, member: Member) -> TurnRecord | None: ...


class Requests:
    """Prompts and interrupts for all agents of one server."""

    def __init__(
        self, tuis: TuiRequests, turns: Turns, *, is_live: Callable[[Member], bool], tell: Tell
    ) -> None:
        self._tuis = tuis
        self._tell = tell
        self._turns = turns
        self._is_live = is_live

    async def submit(
        self, member: Member, wanted: wire.SubmitPrompt | wire.Interrupt
    ) -> wire.ManagedAccepted:
        """What became of the request. `no_op`: there was nothing to interrupt.

        Raises:
            InvalidInput: It can't be asked of this agent.
            TurnActive: The agent is headless and in the middle of a turn.
            Unavailable: The agent, or its gateway, can't do it now.
        """
        try:
            if isinstance(wanted, wire.SubmitPrompt):
                answer = await self._prompt(member, wanted)
            else:
                answer = await self._interrupt(member)
        except GatewayGarbled as error:  # no proxy, so no word of a bad gateway: the agent can't be reached
            raise NotOperable(str(error)) from error
        self._tell(answer)
        return answer

    async def _prompt(self, member: Member, wanted: wire.SubmitPrompt) -> wire.ManagedAccepted:
        text = wanted.prompt.strip()
        if member.is_headless:
            record = await self._turns.submit(member, text, execution=wanted.execution)
            return _accepted(member, "submit_prompt", f"accepted as turn {record.turn_index}", record)
        if wanted.execution is not None:
            raise ExecutionOnTui(member.record.agent_name)
        detail = await self._tuis.prompt(member, await self._operable(member), text)
        return _accepted(member, "submit_prompt", detail)

    async def _interrupt(self, member: Member) -> wire.ManagedAccepted:
        session = await self._operable(member)
        if member.is_headless:
            record = await self._turns.interrupt(member)
            if record is not None:
                return _accepted(member, "interrupt", f"turn {record.turn_index} is being ended", record)
        else:
            detail = await self._tuis.interrupt(member, session)
            if detail is not None:
                return _accepted(member, "interrupt", detail)
        return wire.ManagedAccepted(
            tracked_agent_id=member.tracked_agent_id,
            request_id=_new_id(),
            request_kind="interrupt",
            disposition="no_op",
            detail=f"{member.record.agent_name} is not doing anything",
        )

    async def _operable(self, member: Member) -> Session:
        name, backend = member.record.agent_name, member.record.identity.backend
        if backend in LEGACY:
            raise NotOperable(f"agent {name!r}: backend {backend} is only shown, never driven")
        if not self._is_live(member):
            raise NotOperable(
                f"agent {name!r} does not run; start it again with "
                f"`posthouse agents single --agent-id {member.record.agent_id} relaunch`"
            )
        try:
            return await asyncio.to_thread(sessions.read, Path(member.record.runtime.manifest_path))
        except PosthouseError as error:
            raise NotOperable(f"agent {name!r} can't be used: {error}") from error


def _accepted(
    member: Member, kind: wire.RequestKind, detail: str, record: TurnRecord | None = None
) -> wire.ManagedAccepted:
    return wire.ManagedAccepted(
        tracked_agent_id=member.tracked_agent_id,
        request_id=_new_id(),
        request_kind=kind,
        disposition="accepted",
        detail=detail,
        headless_turn_id=record.turn_id if record else None,
        headless_turn_index=record.turn_index if record else None,
    )


def _new_id() -> str:
    return f"mreq-{ids.hex_id(12)}"

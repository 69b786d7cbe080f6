"""Requests to agents of both transports: the service behind `/requests`."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.gateway_http import Execution
from posthouse.contracts.managed_agent_files import TurnRecord
from posthouse.contracts.manifest import LEGACY
from posthouse.errors import InvalidInput, PosthouseError, Unavailable
from posthouse.server.gateways import BadGatewayResponse
from posthouse.server.member import Member
from posthouse.server.requests.tui import TuiRequests
from posthouse.server.turns.agent_turns import NOT_OPERABLE
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support import ids

#: Called with the result of each request. It must be quick and must not raise.
OnRequest = Callable[[wire.ManagedAccepted], None]


class Turns(Protocol):
    """Headless turns, recorded before they start."""

    async def submit(
        self, member: Member, prompt: str, *, execution: Execution | None = None
    ) -> TurnRecord: ...

    async def interrupt(self, member: Member) -> TurnRecord | None: ...


class RequestService:
    """Prompts and interrupts for all agents of one server."""

    def __init__(
        self, tuis: TuiRequests, turns: Turns, *, is_live: Callable[[Member], bool], on_request: OnRequest
    ) -> None:
        self._tuis = tuis
        self._on_request = on_request
        self._turns = turns
        self._is_live = is_live

    async def submit(
        self, member: Member, request: wire.SubmitPrompt | wire.Interrupt
    ) -> wire.ManagedAccepted:
        """Submit the request. `no_op`: there was nothing to interrupt.

        Raises:
            InvalidInput: The agent does not support the request.
            TurnActive: The agent is headless and a turn is active.
            Unavailable: The agent or its gateway can't execute it now.
        """
        try:
            if isinstance(request, wire.SubmitPrompt):
                answer = await self._prompt(member, request)
            else:
                answer = await self._interrupt(member)
        except BadGatewayResponse as error:  # this route is no proxy: 503 rather than 502
            raise Unavailable(str(error), code=NOT_OPERABLE) from error
        self._on_request(answer)
        return answer

    async def _prompt(self, member: Member, request: wire.SubmitPrompt) -> wire.ManagedAccepted:
        text = request.prompt.strip()
        if member.is_headless:
            record = await self._turns.submit(member, text, execution=request.execution)
            return _accepted(member, "submit_prompt", f"accepted as turn {record.turn_index}", record)
        if request.execution is not None:
            raise InvalidInput(
                f"execution applies to headless agents, and {member.record.agent_name!r} is a TUI: omit it, "
                "and choose the model in the TUI or at launch",
                code="execution_on_tui",
            )
        detail = await self._tuis.prompt(member, await self._operable(member), text)
        return _accepted(member, "submit_prompt", detail)

    async def _interrupt(self, member: Member) -> wire.ManagedAccepted:
        session = await self._operable(member)
        if member.is_headless:
            record = await self._turns.interrupt(member)
            if record is not None:
                return _accepted(member, "interrupt", f"interrupting turn {record.turn_index}", record)
        else:
            detail = await self._tuis.interrupt(member, session)
            if detail is not None:
                return _accepted(member, "interrupt", detail)
        return wire.ManagedAccepted(
            tracked_agent_id=member.tracked_agent_id,
            request_id=_new_id(),
            request_kind="interrupt",
            disposition="no_op",
            detail=f"{member.record.agent_name} is idle",
        )

    async def _operable(self, member: Member) -> Session:
        name, backend = member.record.agent_name, member.record.identity.backend
        if backend in LEGACY:
            raise Unavailable(f"agent {name!r}: backend {backend} is read-only", code=NOT_OPERABLE)
        if not self._is_live(member):
            raise Unavailable(
                f"agent {name!r} does not run; start it again with "
                f"`posthouse agents single --agent-id {member.record.agent_id} relaunch`",
                code=NOT_OPERABLE,
            )
        try:
            return await asyncio.to_thread(sessions.read, Path(member.record.runtime.manifest_path))
        except PosthouseError as error:
            raise Unavailable(f"agent {name!r} is unusable: {error}", code=NOT_OPERABLE) from error


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

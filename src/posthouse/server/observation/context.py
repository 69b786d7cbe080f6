"""The session and the gateway of an agent and their problems, for both transports."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.contracts.gateway_tui_http import Problem
from posthouse.contracts.manifest import FilesystemMailbox, Manifest
from posthouse.errors import PosthouseError
from posthouse.server.gateways import Gateways, LiveGateway
from posthouse.server.member import Member
from posthouse.server.observation import gateway_state
from posthouse.server.offline import status_of
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session

#: Kinds of diagnostics beyond the contract's.
GATEWAY_UNUSABLE = "gateway_unusable"
MANIFEST_UNREADABLE = "manifest_unreadable"


@dataclass(frozen=True, slots=True)
class UnreadableSession:
    """A session whose manifest is unreadable."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """The session and the gateway of one agent at one moment."""

    member: Member
    is_live: bool
    session: Session | UnreadableSession
    #: None when it has no usable gateway.
    gateway: LiveGateway | None = None
    #: The gateway's status, or the offline status.
    status: GatewayStatus
    #: Problems of the gateway.
    gateway_problems: tuple[Problem, ...] = ()

    def without_gateway(self, error: PosthouseError) -> Self:
        """A copy without the gateway, with *error* as its problem."""
        problem = Problem(kind=GATEWAY_UNUSABLE, message=str(error))
        return replace(self, gateway=None, gateway_problems=(*self.gateway_problems, problem))

    @property
    def manifest(self) -> Manifest | None:
        """None when it is unreadable."""
        return None if isinstance(self.session, UnreadableSession) else self.session.manifest

    @property
    def mailbox_posture(self) -> wire.MailboxPosture | None:
        binding = None if self.manifest is None else self.manifest.launch_plan.mailbox
        if binding is None:
            return None
        return wire.MailboxPosture(
            transport="filesystem" if isinstance(binding, FilesystemMailbox) else "stalwart",
            principal_id=binding.principal_id,
            address=binding.address,
        )

    @property
    def gateway_posture(self) -> wire.GatewayPosture:
        return wire.GatewayPosture.of(self.status)

    def summary(
        self,
        availability: wire.Availability,
        turn: wire.TurnPosture,
        last_turn: wire.LastTurn,
        diagnostics: tuple[Problem, ...],
    ) -> wire.Summary:
        """The summary, completed from this context."""
        runtime = None if self.manifest is None else self.manifest.runtime
        return wire.Summary(
            tracked_agent_id=self.member.tracked_agent_id,
            identity=self.member.identity,
            availability=availability,
            turn=turn,
            last_turn=last_turn,
            diagnostics=(*diagnostics, *self.gateway_problems),
            mailbox=self.mailbox_posture,
            gateway=self.gateway_posture,
            memory_root=runtime.memory_root if runtime else None,
            memo_file=runtime.memo_file if runtime else None,
            pages_dir=runtime.pages_dir if runtime else None,
        )


class ContextLoader:
    """Loads the context of an agent."""

    def __init__(self, gateways: Gateways, *, is_live: Callable[[Member], bool]) -> None:
        self._gateways = gateways
        self._is_live = is_live

    async def load(self, member: Member) -> AgentContext:
        session = await asyncio.to_thread(_load_session, member)
        is_live = self._is_live(member)
        try:
            gateway = await self._gateways.require(member)
            status = await gateway_state.status(member, gateway)
        except PosthouseError as error:
            offline = GatewayStatus.model_validate(await status_of(member))
            found = AgentContext(member=member, is_live=is_live, session=session, status=offline)
            # A recorded gateway that is dead, silent or of another version is a problem; none is not.
            return found if member.record.gateway is None else found.without_gateway(error)
        return AgentContext(member=member, is_live=is_live, session=session, gateway=gateway, status=status)


def _load_session(member: Member) -> Session | UnreadableSession:
    try:
        return sessions.read(Path(member.record.runtime.manifest_path))
    except PosthouseError as error:
        return UnreadableSession(str(error))

"""What is known of any agent, whatever its transport: its session, its gateway, what is wrong with them."""

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

#: Kinds of diagnostics; those of the contract are where they are made.
GATEWAY_UNUSABLE = "gateway_unusable"
MANIFEST_UNREADABLE = "manifest_unreadable"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A session whose manifest can't be read."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """One agent at one moment."""

    member: Member
    is_live: bool
    session: Session | Unreadable
    #: None when there is none that can be believed.
    gateway: LiveGateway | None = None
    #: Of the gateway, or of having none.
    status: GatewayStatus
    #: What is wrong with the gateway.
    troubles: tuple[Problem, ...] = ()

    def without_gateway(self, error: PosthouseError) -> Self:
        """The same after its gateway turned out to be of no use: looked at without it."""
        told = Problem(kind=GATEWAY_UNUSABLE, message=str(error))
        return replace(self, gateway=None, troubles=(*self.troubles, told))

    @property
    def manifest(self) -> Manifest | None:
        """None when it can't be read."""
        return None if isinstance(self.session, Unreadable) else self.session.manifest

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
        """The summary of an agent of which the rest is known."""
        runtime = None if self.manifest is None else self.manifest.runtime
        return wire.Summary(
            tracked_agent_id=self.member.tracked_agent_id,
            identity=self.member.identity,
            availability=availability,
            turn=turn,
            last_turn=last_turn,
            diagnostics=(*diagnostics, *self.troubles),
            mailbox=self.mailbox_posture,
            gateway=self.gateway_posture,
            memory_root=runtime.memory_root if runtime else None,
            memo_file=runtime.memo_file if runtime else None,
            pages_dir=runtime.pages_dir if runtime else None,
        )


class Backgrounds:
    """Finds out what is known of each agent at the moment of the question."""

    def __init__(self, gateways: Gateways, *, is_live: Callable[[Member], bool]) -> None:
        self._gateways = gateways
        self._is_live = is_live

    async def of(self, member: Member) -> Background:
        session = await asyncio.to_thread(_session, member)
        is_live = self._is_live(member)
        try:
            gateway = await self._gateways.needed(member)
            status = await gateway_state.status(member, gateway)
        except PosthouseError as error:
            offline = GatewayStatus.model_validate(await status_of(member))
            found = Background(member=member, is_live=is_live, session=session, status=offline)
            # Having none is no trouble; having one that is dead, silent or of another version is.
            return found if member.record.gateway is None else found.without_gateway(error)
        return Background(member=member, is_live=is_live, session=session, gateway=gateway, status=status)


def _session(member: Member) -> Session | Unreadable:
    try:
        return sessions.read(Path(member.record.runtime.manifest_path))
    except PosthouseError as error:
        return Unreadable(str(error))

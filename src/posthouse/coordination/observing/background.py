"""What is known of any agent, whatever its transport: its session, its gateway, what is wrong with them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.contracts.gateway_tui_http import Problem
from posthouse.contracts.manifest import FilesystemMailbox
from posthouse.coordination.gateways import Gateways, LiveGateway, NoLiveGateway
from posthouse.coordination.member import Member
from posthouse.coordination.observing import reading
from posthouse.errors import PosthouseError
from posthouse.sessions import publication
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session

#: Kinds of diagnostics; those of the contract are where they are made.
GATEWAY_UNUSABLE = "gateway_unusable"
MANIFEST_UNREADABLE = "manifest_unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """One agent at one moment."""

    member: Member
    is_live: bool
    #: None when the manifest can't be read, and `problem` says why.
    session: Session | None
    problem: str | None = None
    #: None when there is none that can be believed.
    gateway: LiveGateway | None = None
    #: Of the gateway, or of having none; None when not even that can be told.
    status: GatewayStatus | None = None
    #: What is wrong with the gateway.
    troubles: tuple[Problem, ...] = ()

    def without_gateway(self, error: PosthouseError) -> Self:
        """The same after its gateway turned out to be of no use: looked at without it."""
        told = Problem(kind=GATEWAY_UNUSABLE, message=str(error))
        return replace(self, gateway=None, troubles=(*self.troubles, told))

    @property
    def mailbox_posture(self) -> wire.MailboxPosture | None:
        binding = None if self.session is None else self.session.manifest.launch_plan.mailbox
        if binding is None:
            return None
        return wire.MailboxPosture(
            transport="filesystem" if isinstance(binding, FilesystemMailbox) else "stalwart",
            principal_id=binding.principal_id,
            address=binding.address,
        )

    @property
    def gateway_posture(self) -> wire.GatewayPosture | None:
        return None if self.status is None else wire.GatewayPosture.of(self.status)

    def summary(
        self,
        availability: wire.Availability,
        turn: wire.TurnPosture,
        last_turn: wire.LastTurn,
        diagnostics: tuple[Problem, ...],
    ) -> wire.Summary:
        """The summary of an agent of which the rest is known."""
        runtime = None if self.session is None else self.session.manifest.runtime
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
        found = await asyncio.to_thread(_look_up, member, is_live=self._is_live(member))
        if found.session is None:
            return found
        try:
            gateway = await self._gateways.needed(member)
            status = await reading.status(member, gateway)
        except NoLiveGateway as error:
            # Having none is no trouble; having one that is dead, silent or of another version is.
            return found if member.record.gateway is None else found.without_gateway(error)
        except PosthouseError as error:
            return found.without_gateway(error)
        return replace(found, gateway=gateway, status=status)


def _look_up(member: Member, *, is_live: bool) -> Background:
    try:
        session = sessions.read(Path(member.record.runtime.manifest_path))
    except PosthouseError as error:
        return Background(member=member, is_live=is_live, session=None, problem=str(error))
    try:
        status = _offline(session)
    except PosthouseError as error:
        trouble = Problem(kind=GATEWAY_UNUSABLE, message=str(error))
        return Background(member=member, is_live=is_live, session=session, troubles=(trouble,))
    return Background(member=member, is_live=is_live, session=session, status=status)


def _offline(session: Session) -> GatewayStatus:
    """The status of having no gateway."""
    mode = publication.desired_config(session).desired_execution_mode
    return GatewayStatus.model_validate(gf.offline_status(publication.attach_of(session), mode))

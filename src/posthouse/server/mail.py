"""Resolves the mailbox of an agent from its manifest, before its gateway is used."""

import asyncio
from pathlib import Path

from posthouse.contracts import gateway_files as gf
from posthouse.contracts.managed_mail_http import ResolvedMail
from posthouse.contracts.manifest import Mailbox
from posthouse.errors import PosthouseError, Unavailable
from posthouse.gateway_lifecycle import mailbox_lookup
from posthouse.server.gateways import Gateways
from posthouse.server.member import Member
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session


class MailResolver:
    """Resolves the mailboxes of the server's agents."""

    def __init__(self, gateways: Gateways) -> None:
        self._gateways = gateways

    async def require(self, member: Member) -> None:
        """Return if the agent has a mailbox.

        Raises:
            Unavailable: The agent has no mailbox.
        """
        await asyncio.to_thread(_bound, member)

    async def resolve(self, member: Member) -> ResolvedMail:
        """The agent's mailbox, and the live gateway through which it is used.

        Raises:
            Unavailable: The agent has no usable mailbox.
            NoLiveGateway: The agent has no live gateway.
        """
        await self.require(member)
        gateway = await self._gateways.require(member)
        return await asyncio.to_thread(_resolved, member, gateway.instance)


def _bound(member: Member) -> tuple[Session, Mailbox]:
    name = member.record.agent_name
    try:
        found = sessions.read(Path(member.record.runtime.manifest_path))
    except PosthouseError as error:
        raise _no_mail(f"the manifest of {name!r}, which names its mailbox, is unusable: {error}") from error
    binding = found.manifest.launch_plan.mailbox
    if binding is None:
        raise _no_mail(
            f"{name!r} has no mailbox; register one with "
            f"`posthouse agents single --agent-id {member.record.agent_id} mailbox register`"
        )
    return found, binding


def _resolved(member: Member, there: gf.CurrentInstance) -> ResolvedMail:
    found, binding = _bound(member)
    try:
        answer = mailbox_lookup.describe_mailbox(found, binding, there, source="pair_authority")
    except PosthouseError as error:
        raise _no_mail(f"the mailbox of {member.record.agent_name!r} is unusable: {error}") from error
    return ResolvedMail.model_validate(answer)


def _no_mail(message: str) -> Unavailable:
    return Unavailable(message, code="no_mail")

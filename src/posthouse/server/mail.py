"""Which agents have mail, and where: decided from their manifests before a gateway is asked."""

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


class NoMail(Unavailable):
    """The agent has no mailbox that could be used; the message says why, and what to do."""

    code = "no_mail"


class Mail:
    """The mailboxes of the server's agents."""

    def __init__(self, gateways: Gateways) -> None:
        self._gateways = gateways

    async def require(self, member: Member) -> None:
        """Return when the agent has a mailbox.

        Raises:
            NoMail: It has none.
        """
        await asyncio.to_thread(_bound, member)

    async def resolve(self, member: Member) -> ResolvedMail:
        """The agent's mailbox, and the live gateway through which it is used.

        Raises:
            NoMail: It has none that can be used.
            NoLiveGateway: Nobody could use it for a caller.
        """
        await self.require(member)
        gateway = await self._gateways.needed(member)
        return await asyncio.to_thread(_resolved, member, gateway.instance)


def _bound(member: Member) -> tuple[Session, Mailbox]:
    name = member.record.agent_name
    try:
        found = sessions.read(Path(member.record.runtime.manifest_path))
    except PosthouseError as error:
        raise NoMail(f"whether {name!r} has a mailbox is not known: {error}") from error
    binding = found.manifest.launch_plan.mailbox
    if binding is None:
        raise NoMail(
            f"{name!r} has no mailbox; give it one with "
            f"`posthouse agents single --agent-id {member.record.agent_id} mailbox register`"
        )
    return found, binding


def _resolved(member: Member, there: gf.CurrentInstance) -> ResolvedMail:
    found, binding = _bound(member)
    try:
        answer = mailbox_lookup.resolved(found, binding, there, source="pair_authority")
    except PosthouseError as error:
        raise NoMail(f"the mailbox of {member.record.agent_name!r} can't be used: {error}") from error
    return ResolvedMail.model_validate(answer)

"""The mailboxes of agents for commands: look up, open, deregister."""

from pathlib import Path
from typing import TYPE_CHECKING

from posthouse.contracts.manifest import FilesystemMailbox, Mailbox
from posthouse.errors import InvalidInput
from posthouse.sessions.session import Session

if TYPE_CHECKING:
    from posthouse.gateway.mail.facade import MailFacade
    from posthouse.mailbox.filesystem.registration import Removal


def binding_of(session: Session, prog: str) -> Mailbox:
    """The mailbox that the session's manifest names.

    Raises:
        InvalidInput: It names none; the message has the command that registers one.
    """
    binding = session.manifest.launch_plan.mailbox
    if binding is None:
        raise InvalidInput(
            f"agent {session.agent_name!r} has no mailbox; give it one with "
            f"`{prog} agents mailbox register {session.agent_name}`",
            code="no_mailbox",
        )
    return binding


def deregister(binding: Mailbox, removal: "Removal") -> str | None:
    """Deactivate or remove the mailbox; returns its registration id, None if there was none."""
    if not isinstance(binding, FilesystemMailbox):
        return None
    from posthouse.mailbox.filesystem import open_root, register_mailbox
    from posthouse.mailbox.filesystem.registration import NotRegistered

    try:
        root = open_root.open_root(Path(binding.filesystem_root))
        return register_mailbox.deregister(root, binding.address, removal).registration_id
    except NotRegistered:
        return None


def open_mailbox(binding: Mailbox) -> "MailFacade":
    """Open the mailbox without a gateway. The caller closes its transport.

    Raises:
        MailboxUnusable, UnsupportedMailOperation, Unavailable: It can't be used.
    """
    from posthouse.gateway.mail.facade import MailFacade
    from posthouse.mailbox.transports import open_transport

    return MailFacade(binding, open_transport(binding))

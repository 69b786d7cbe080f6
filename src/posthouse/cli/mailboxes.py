"""The mailboxes of agents as commands need them: made, looked up, taken away."""

from pathlib import Path
from typing import TYPE_CHECKING

from posthouse.contracts.manifest import FilesystemMailbox, Mailbox
from posthouse.errors import InvalidInput
from posthouse.sessions.session import Session

if TYPE_CHECKING:
    from posthouse.gateway.mail.facade import Facade
    from posthouse.mailbox.filesystem.registration import Removal


class NoMailbox(InvalidInput):
    """The agent has no mailbox."""

    code = "no_mailbox"


def binding_of(found: Session, prog: str) -> Mailbox:
    """The mailbox that the session's manifest names.

    Raises:
        NoMailbox: It names none; the message says how to give it one.
    """
    binding = found.manifest.launch_plan.mailbox
    if binding is None:
        raise NoMailbox(
            f"agent {found.agent_name!r} has no mailbox; give it one with "
            f"`{prog} agents mailbox register {found.agent_name}`"
        )
    return binding


def withdraw(binding: Mailbox, removal: "Removal") -> str | None:
    """Take the mailbox out of use, or away; the registration it had, None where there was none."""
    if not isinstance(binding, FilesystemMailbox):
        return None
    from posthouse.mailbox.filesystem import open_root, register_mailbox
    from posthouse.mailbox.filesystem.registration import NotRegistered

    try:
        root = open_root.open_root(Path(binding.filesystem_root))
        return register_mailbox.deregister(root, binding.address, removal).registration_id
    except NotRegistered:
        return None


def opened(binding: Mailbox) -> "Facade":
    """The mailbox itself, for a command that needs no gateway. The caller closes its transport.

    Raises:
        MailboxUnusable, UnsupportedMail, MailTrouble: It can't be used.
    """
    from posthouse.gateway.mail.facade import Facade
    from posthouse.mailbox.transports import open_transport

    return Facade(binding, open_transport(binding))

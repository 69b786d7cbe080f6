"""From the binding in a manifest to the mailbox it names."""

from pathlib import Path

from posthouse.contracts.manifest import FilesystemMailbox as FilesystemBinding
from posthouse.contracts.manifest import Mailbox as Binding
from posthouse.mailbox.transport import Transport, UnsupportedMail


def is_supported(binding: Binding) -> bool:
    """Whether mail of that kind can be reached at all."""
    return isinstance(binding, FilesystemBinding)


def open_transport(binding: Binding) -> Transport:
    """The mailbox of *binding*, checked to be usable. Whoever opens it closes it.

    Raises:
        MailboxUnusable: It is not there, or not this principal's.
        UnsupportedMail: Its transport can't be used yet.
        MailTrouble: It can't be read.
    """
    if not isinstance(binding, FilesystemBinding):  # `is_supported`, for the type checker too
        raise UnsupportedMail(
            f"{binding.address} is bound to a stalwart server, whose mail can't be reached yet; "
            "bind the agent to a filesystem mailbox"
        )
    from posthouse.mailbox.filesystem.mailbox import open_mailbox

    return open_mailbox(
        Path(binding.filesystem_root), address=binding.address, principal_id=binding.principal_id
    )

"""Opens the mailbox of a manifest's binding."""

from pathlib import Path

from posthouse.contracts.manifest import FilesystemMailbox as FilesystemBinding
from posthouse.contracts.manifest import Mailbox as Binding
from posthouse.mailbox.transport import Transport, UnsupportedMailOperation


def is_supported(binding: Binding) -> bool:
    """Whether the binding's transport is implemented."""
    return isinstance(binding, FilesystemBinding)


def open_transport(binding: Binding) -> Transport:
    """The mailbox of *binding*, checked to be usable. The caller closes it.

    Raises:
        MailboxUnusable: It does not exist, or belongs to another principal.
        UnsupportedMailOperation: Its transport is not supported yet.
        MailTransportError: It can't be read.
    """
    if not isinstance(binding, FilesystemBinding):  # `is_supported`, for the type checker too
        raise UnsupportedMailOperation(
            f"{binding.address} is bound to a stalwart server, whose mail can't be reached yet; "
            "bind the agent to a filesystem mailbox"
        )
    from posthouse.mailbox.filesystem.mailbox import open_mailbox

    return open_mailbox(
        Path(binding.filesystem_root), address=binding.address, principal_id=binding.principal_id
    )

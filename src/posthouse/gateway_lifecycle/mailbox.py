"""Creates the mailbox that a session's manifest names."""

from pathlib import Path
from typing import TYPE_CHECKING

from posthouse.contracts.manifest import FilesystemMailbox, Mailbox
from posthouse.sessions.session import Session

if TYPE_CHECKING:
    from posthouse.mailbox.filesystem.registration import Mode


def ensure_mailbox(made: Session, binding: Mailbox, *, mode: "Mode" = "safe") -> None:
    """Register the mailbox of *binding* for the session, and create its root if needed.

    Does nothing for other transports: their server owns the mailbox.

    Raises:
        Conflict: The address belongs to another principal.
        MailTransportError: The root can't be used.
    """
    if not isinstance(binding, FilesystemMailbox):
        return
    from posthouse.mailbox.filesystem import create_root, register_mailbox
    from posthouse.mailbox.filesystem.registration import RegistrationRequest

    is_linked = binding.mailbox_kind == "symlink"
    root = create_root.create_root(Path(binding.filesystem_root))
    register_mailbox.register(
        root,
        RegistrationRequest(
            address=binding.address,
            owner_principal_id=binding.principal_id,
            mode=mode,
            mailbox_kind=binding.mailbox_kind,
            mailbox_path=Path(binding.mailbox_path) if is_linked and binding.mailbox_path else None,
            display_name=made.agent_name,
            manifest_path_hint=str(made.manifest_path),
            role=made.manifest.role_name,
        ),
    )

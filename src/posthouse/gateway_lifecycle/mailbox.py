"""The mailbox that a session's manifest names, made where it lies."""

from pathlib import Path
from typing import TYPE_CHECKING

from posthouse.contracts.manifest import FilesystemMailbox, Mailbox
from posthouse.sessions.session import Session

if TYPE_CHECKING:
    from posthouse.mailbox.filesystem.registration import Mode


def provide(made: Session, binding: Mailbox, *, mode: "Mode" = "safe") -> None:
    """Have the mailbox of *binding* for that session, in a root that is made when there is none.

    A binding to another transport is kept as it is: its server has the mailbox.

    Raises:
        RegistrationConflict: The address is another's.
        MailTrouble: The root can't be used.
    """
    if not isinstance(binding, FilesystemMailbox):
        return
    from posthouse.mailbox.filesystem import create_root, register_mailbox
    from posthouse.mailbox.filesystem.registration import Wish

    is_linked = binding.mailbox_kind == "symlink"
    root = create_root.create_root(Path(binding.filesystem_root))
    register_mailbox.register(
        root,
        Wish(
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

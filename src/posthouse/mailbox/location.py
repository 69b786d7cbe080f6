"""The current location of a binding's mailbox, for display."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from posthouse.contracts.manifest import FilesystemMailbox, Mailbox
from posthouse.errors import Conflict

if TYPE_CHECKING:
    from posthouse.mailbox.filesystem.registration import Registration


def describe(binding: Mailbox) -> dict[str, Any]:
    """The location of the mailbox, from its active registration.

    Raises:
        Conflict: The manifest and the registration name different folders.
        MailboxUnusable: The address is not registered.
    """
    shown: dict[str, Any] = {
        "transport": transport_name(binding),
        "principal_id": binding.principal_id,
        "address": binding.address,
        "bindings_version": binding.bindings_version,
    }
    if not isinstance(binding, FilesystemMailbox):
        return shown | {
            "stalwart": {
                "jmap_url": binding.jmap_url,
                "management_url": binding.management_url,
                "login_identity": binding.login_identity,
                "credential_ref": binding.credential_ref,
                "credential_file": None,
            }
        }
    return shown | {"filesystem": _filesystem(binding)}


def _filesystem(binding: FilesystemMailbox) -> dict[str, Any]:
    from posthouse.mailbox.filesystem import layout

    registered = _registration(binding)
    folder = Path(registered.mailbox_path)
    named = binding.mailbox_path
    if named is not None and Path(named).resolve() != folder.resolve():
        raise Conflict(
            f"{binding.address} is registered at {folder}, but the agent's manifest names {named}; "
            "register the agent's mailbox again",
            code="mailbox_binding_outdated",
        )
    root = Path(binding.filesystem_root)
    return {
        "root": str(root),
        "mailbox_kind": registered.mailbox_kind,
        "mailbox_path": str(folder),
        "inbox_path": str(folder / "inbox"),
        "sqlite_path": str(layout.Root(root).index),
        "local_sqlite_path": str(layout.local_index(folder)),
    }


def _registration(binding: FilesystemMailbox) -> "Registration":
    from posthouse.mailbox import MailboxUnusable
    from posthouse.mailbox.filesystem import databases, open_root, registration

    root = open_root.open_root(Path(binding.filesystem_root))
    with databases.opened(root.index) as index:
        found = registration.active(index, binding.address)
    if found is None or found.owner_principal_id != binding.principal_id:
        raise MailboxUnusable(
            f"{binding.address} is not registered for {binding.principal_id} in {root.path}; "
            "register the agent's mailbox again"
        )
    return found


def transport_name(binding: Mailbox) -> str:
    return "filesystem" if isinstance(binding, FilesystemMailbox) else "stalwart"

"""Atomic delivery of a document: to all receivers or none, whenever the process dies.

The staged file is hard-linked to its canonical name, the projections are created, and one commit inserts the
message into the index and the mailboxes. That commit decides: `recovery` completes a delivery after it, and
undoes one before it.
"""

import os
import sqlite3
from pathlib import Path

from posthouse.contracts import mail_address
from posthouse.contracts.mail_document import Document, Participant
from posthouse.mailbox import front_matter
from posthouse.mailbox.filesystem import databases, folders, locks, placement, recovery, registration
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.placement import Projection
from posthouse.mailbox.transport import BadMail, MailboxUnusable, MailTransportError, UnknownRecipient
from posthouse.support import crashpoints, files, ids


def stage(root: Root, document: Document) -> Path:
    """Write *document* durably into the staging folder."""
    staged = root.staging / f"gateway-{ids.hex_id(12)}.md"
    try:
        files.write_whole(staged, front_matter.encode(document), durable=True)
    except OSError as error:
        raise MailTransportError(f"{staged} can't be written: {error}") from error
    return staged


def send(root: Root, document: Document) -> None:
    """Stage and deliver *document*. Raises what `deliver` raises."""
    staged = stage(root, document)
    try:
        deliver(root, staged, document)
    except (BadMail, MailboxUnusable, UnknownRecipient):
        staged.unlink(missing_ok=True)
        raise
    # Any other error, Ctrl-C included, may leave a partial delivery: recovery needs the staged file.


def deliver(root: Root, staged: Path, document: Document) -> None:
    """Deliver *document*, which is complete at *staged*, to its sender and receivers.

    Removes the staged file on success; after an error it stays.

    Raises:
        UnknownRecipient: A receiver's address is not active; nothing was delivered.
        MailboxUnusable: The sender's address is not active; nothing was delivered.
        BadMail: The root has a message of that id.
        MailTransportError: Storage failed. Recovery completes or undoes the delivery.
    """
    addresses = [document.sender.address, *(one.address for one in document.receivers)]
    with locks.hold(root, addresses, index=True):
        recovery.recover_locked(root)
        with databases.opened(root.index) as index:
            _deliver(index, root, staged, document)


def _deliver(index: sqlite3.Connection, root: Root, staged: Path, document: Document) -> None:
    projections = _checked_places(index, root, document)
    _link_canonical(root, staged, document)
    try:
        placement.link_all(root, document, projections)
        placement.commit(index, root, document, projections)
    except (MailTransportError, sqlite3.Error):
        if not recovery.recover(root, staged, document):
            raise
    staged.unlink(missing_ok=True)


def _checked_places(index: sqlite3.Connection, root: Root, document: Document) -> list[Projection]:
    _check_owner(index, root, document.sender, is_sender=True)
    for one in document.receivers:
        _check_owner(index, root, one, is_sender=False)
    if databases.run(index, "has_message", message_id=document.message_id).fetchone():
        raise BadMail(f"{root.path} has a message {document.message_id} already")
    return placement.projections_of(index, document)


def _check_owner(index: sqlite3.Connection, root: Root, one: Participant, *, is_sender: bool) -> None:
    refusal = MailboxUnusable if is_sender else UnknownRecipient
    owner = registration.active(index, one.address)
    if owner is None:
        raise refusal(unreachable_reason(index, root, one.address))
    if owner.owner_principal_id != one.principal_id:
        raise refusal(f"{one.address} belongs to {owner.owner_principal_id}, not to {one.principal_id}")
    if not folders.is_whole(owner.folder):
        raise MailTransportError(
            f"the mailbox of {one.address} at {owner.folder} is incomplete; run `mailbox repair`"
        )


def unreachable_reason(index: sqlite3.Connection, root: Root, address: str) -> str:
    """Error message for an address without an active mailbox."""
    former = registration.of_address(index, address)
    if former:
        return f"the mailbox of {address} in {root.path} is {former[0].status}; register it again to use it"
    return f"no mailbox has the address {address} in {root.path}; `mailbox accounts list` shows all"


def _link_canonical(root: Root, staged: Path, document: Document) -> None:
    """Hard-link the staged file to its canonical name, durably, before any projection is created."""
    target = root.document(document.message_id, document.date)
    try:
        if not target.parent.is_dir():
            files.private_folder(target.parent)
            files.sync_folder(root.messages)
        _link(staged, target)
        files.sync_folder(target.parent)
    except FileExistsError:
        raise BadMail(f"{target} already exists") from None
    except OSError as error:
        raise MailTransportError(f"{target} can't be written: {error}") from error
    crashpoints.reach("document named")


def _link(staged: Path, target: Path) -> None:
    try:
        os.link(staged, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError as error:
        raise MailTransportError(
            f"{staged.parent} is on a file system without hard links ({error}); put the root on another"
        ) from error


def operator() -> Participant:
    return Participant(
        principal_id=mail_address.OPERATOR_PRINCIPAL,
        address=mail_address.OPERATOR_ADDRESS,
        display_name=mail_address.OPERATOR_DISPLAY_NAME,
        role=mail_address.OPERATOR_ROLE,
    )

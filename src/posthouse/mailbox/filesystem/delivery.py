"""Delivering a document: there for everybody or for nobody, whenever the process dies.

The staged file gets its canonical name as a second one, the links are made, and one commit enters the
message into the index and the mailboxes. That commit decides: `recovery` completes what comes after it, and
undoes what came before.
"""

import os
import sqlite3
from pathlib import Path

from posthouse.contracts import mail_address
from posthouse.contracts.mail_document import Document, Participant
from posthouse.mailbox import front_matter
from posthouse.mailbox.filesystem import databases, folders, locks, placement, recovery, registration
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.placement import Place
from posthouse.mailbox.transport import BadMail, MailboxUnusable, MailTrouble, UnknownRecipient
from posthouse.support import crashpoints, files, ids


def stage(root: Root, document: Document) -> Path:
    """Write *document* where a delivery begins, durably."""
    staged = root.staging / f"gateway-{ids.hex_id(12)}.md"
    try:
        files.write_whole(staged, front_matter.encode(document), durable=True)
    except OSError as error:
        raise MailTrouble(f"{staged} can't be written: {error}") from error
    return staged


def send(root: Root, document: Document) -> None:
    """Stage and deliver *document*. Raises what `deliver` raises."""
    staged = stage(root, document)
    try:
        deliver(root, staged, document)
    except (BadMail, MailboxUnusable, UnknownRecipient):
        staged.unlink(missing_ok=True)
        raise
    # Any other end, Ctrl-C included, may come half-way: the staged file is what the next opening judges by.


def deliver(root: Root, staged: Path, document: Document) -> None:
    """Give *document*, which lies whole at *staged*, to its sender and receivers.

    The staged file is gone then; after an error it is still there.

    Raises:
        UnknownRecipient: A receiver's address is not active; nobody got anything.
        MailboxUnusable: The sender's is not; nobody got anything.
        BadMail: The root has a message of that id.
        MailTrouble: Storage failed. The next opening completes the delivery or undoes it.
    """
    addresses = [document.sender.address, *(one.address for one in document.receivers)]
    with locks.hold(root, addresses, index=True):
        recovery.settle_held(root)
        with databases.opened(root.index) as index:
            _deliver(index, root, staged, document)


def _deliver(index: sqlite3.Connection, root: Root, staged: Path, document: Document) -> None:
    places = _checked_places(index, root, document)
    _give_name(root, staged, document)
    try:
        placement.link_all(root, document, places)
        placement.commit(index, root, document, places)
    except (MailTrouble, sqlite3.Error):
        if not recovery.settle(root, staged, document):
            raise
    staged.unlink(missing_ok=True)


def _checked_places(index: sqlite3.Connection, root: Root, document: Document) -> list[Place]:
    _check_owner(index, root, document.sender, is_sender=True)
    for one in document.receivers:
        _check_owner(index, root, one, is_sender=False)
    if databases.run(index, "has_message", message_id=document.message_id).fetchone():
        raise BadMail(f"{root.path} has a message {document.message_id} already")
    return placement.places_of(index, document)


def _check_owner(index: sqlite3.Connection, root: Root, one: Participant, *, is_sender: bool) -> None:
    refusal = MailboxUnusable if is_sender else UnknownRecipient
    owner = registration.active(index, one.address)
    if owner is None:
        raise refusal(why_not(index, root, one.address))
    if owner.owner_principal_id != one.principal_id:
        raise refusal(f"{one.address} belongs to {owner.owner_principal_id}, not to {one.principal_id}")
    if not folders.is_whole(owner.folder):
        raise MailTrouble(
            f"the mailbox of {one.address} at {owner.folder} is not whole; `mailbox repair` mends it"
        )


def why_not(index: sqlite3.Connection, root: Root, address: str) -> str:
    """The words for somebody who wrote to an address that gets no mail here."""
    former = registration.of_address(index, address)
    if former:
        return f"the mailbox of {address} in {root.path} is {former[0].status}; register it again to use it"
    return f"nobody has the address {address} in {root.path}; `mailbox accounts list` shows who has one"


def _give_name(root: Root, staged: Path, document: Document) -> None:
    """Give the staged file its canonical name, durably, before any link leads there."""
    target = root.document(document.message_id, document.date)
    try:
        if not target.parent.is_dir():
            files.private_folder(target.parent)
            files.sync_folder(root.messages)
        _link(staged, target)
        files.sync_folder(target.parent)
    except FileExistsError:
        raise BadMail(f"{target} is there already") from None
    except OSError as error:
        raise MailTrouble(f"{target} can't be written: {error}") from error
    crashpoints.reach("document named")


def _link(staged: Path, target: Path) -> None:
    try:
        os.link(staged, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError as error:
        raise MailTrouble(
            f"{staged.parent} is on a file system without hard links ({error}); put the root on another"
        ) from error


def operator() -> Participant:
    return Participant(
        principal_id=mail_address.OPERATOR_PRINCIPAL,
        address=mail_address.OPERATOR_ADDRESS,
        display_name=mail_address.OPERATOR_DISPLAY_NAME,
        role=mail_address.OPERATOR_ROLE,
    )

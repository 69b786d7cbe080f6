"""Recovery of interrupted deliveries: completed when they were committed, undone when not.

A delivery keeps its staged file as a hard link to the canonical file until it is complete. So a staged file
with two links is an interrupted delivery, and its document names the receivers.
"""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from posthouse.contracts.mail_document import BadDocument, Document
from posthouse.mailbox.filesystem import databases, locks, placement, reading
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.transport import MailTransportError
from posthouse.support import crashpoints

logger = logging.getLogger(__name__)


def recover_all(root: Root) -> None:
    """Complete or undo every interrupted delivery. One folder scan when there is none.

    Raises:
        MailTransportError: The staging folder can't be read or locked.
    """
    if any(_half_done(root)):
        with locks.hold(root, [], index=True):
            recover_locked(root)


def recover_locked(root: Root) -> None:
    """As `recover_all`, for a caller that holds the index lock, which excludes concurrent deliveries.

    A file that can't be recovered is logged and skipped, so that it blocks no other delivery.
    `mailbox repair` sets it aside.
    """
    for staged in list(_half_done(root)):
        try:
            recover(root, staged, _load(root, staged))
        except (BadDocument, MailTransportError) as error:
            # Commands print this line to a terminal: repr escapes what a file name may hold.
            logger.warning("staged file skipped: %r", str(error))


def unreadable(root: Root) -> Iterator[tuple[Path, str]]:
    """The unreadable staged files that `recover_locked` skips, with the reason.

    Raises:
        MailTransportError: The staging folder can't be read.
    """
    for staged in _half_done(root):
        try:
            _load(root, staged)
        except (BadDocument, MailTransportError) as error:
            if os.path.lexists(staged):  # else it was delivered meanwhile
                yield staged, str(error)


def recover(root: Root, staged: Path, document: Document) -> bool:
    """Complete the delivery of *document* if it was committed (True), otherwise undo it (False).

    The caller holds the index lock. An undone delivery stays staged.
    """
    with databases.opened(root.index) as index:
        known = databases.run(index, "has_message", message_id=document.message_id).fetchone() is not None
        projections = placement.projections_of(index, document)
        if known:
            placement.link_all(root, document, projections)
            placement.complete_mailboxes(index, document, projections)
    crashpoints.reach("delivery judged")
    if known:
        staged.unlink(missing_ok=True)
    else:
        placement.unlink_all(root, document, projections)
    return known


def _load(root: Root, staged: Path) -> Document:
    """The document at *staged*.

    Raises:
        BadDocument: It is invalid, or owned neither by this user nor by the owner of the root.
        MailTransportError: It can't be read.
    """
    try:
        owner, allowed = staged.lstat().st_uid, (os.geteuid(), root.path.stat().st_uid)
    except OSError as error:
        raise MailTransportError(f"{staged} can't be read: {error}") from error
    if owner not in allowed:
        raise BadDocument(f"{staged} belongs to user {owner}")
    return reading.load(staged)


def _half_done(root: Root) -> Iterator[Path]:
    try:
        with os.scandir(root.staging) as entries:
            names = [entry.path for entry in entries if entry.name.endswith(".md")]
        for name in names:
            try:
                if os.lstat(name).st_nlink > 1:
                    yield Path(name)
            except FileNotFoundError:
                continue
    except OSError as error:
        raise MailTransportError(f"{root.staging} can't be read: {error}") from error

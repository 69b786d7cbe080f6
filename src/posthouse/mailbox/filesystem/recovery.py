"""Deliveries that a killed process left: completed when they were committed, undone when not.

A delivery keeps its staged file beside the canonical one, as a second name of the same file, until everything
is done. So a staged file with two names is a half-done delivery, and says itself whom it is for.
"""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from posthouse.contracts.mail_document import BadDocument, Document
from posthouse.mailbox.filesystem import databases, locks, placement, reading
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.transport import MailTrouble
from posthouse.support import crashpoints

logger = logging.getLogger(__name__)


def settle_all(root: Root) -> None:
    """Complete or undo every half-done delivery. Costs one look at a folder when there is none.

    Raises:
        MailTrouble: The staging folder can't be read or locked.
    """
    if any(_half_done(root)):
        with locks.hold(root, [], index=True):
            settle_held(root)


def settle_held(root: Root) -> None:
    """The same for a caller that holds the index lock, under which no other delivery can be under way.

    One file that can't be settled is logged and skipped, so that it stops no other delivery.
    `mailbox repair` sets it aside.
    """
    for staged in list(_half_done(root)):
        try:
            settle(root, staged, _load(root, staged))
        except (BadDocument, MailTrouble) as error:
            # Commands print this line to a terminal: repr escapes what a file name may hold.
            logger.warning("staged file skipped: %r", str(error))


def unreadable(root: Root) -> Iterator[tuple[Path, str]]:
    """The staged files that `settle_held` skips because they can't be read, with the reason.

    Raises:
        MailTrouble: The staging folder can't be read.
    """
    for staged in _half_done(root):
        try:
            _load(root, staged)
        except (BadDocument, MailTrouble) as error:
            if os.path.lexists(staged):  # else it was delivered meanwhile
                yield staged, str(error)


def settle(root: Root, staged: Path, document: Document) -> bool:
    """Complete the delivery of *document* when it was committed, and undo it when not. True: it was.

    The caller holds the index lock. What was undone is still staged.
    """
    with databases.opened(root.index) as index:
        known = databases.run(index, "has_message", message_id=document.message_id).fetchone() is not None
        places = placement.places_of(index, document)
        if known:
            placement.link_all(root, document, places)
            placement.fill(index, document, places)
    crashpoints.reach("delivery judged")
    if known:
        staged.unlink(missing_ok=True)
    else:
        placement.unlink_all(root, document, places)
    return known


def _load(root: Root, staged: Path) -> Document:
    """The document at *staged*.

    Raises:
        BadDocument: It is none, or belongs neither to this user nor to the owner of the root.
        MailTrouble: It can't be read.
    """
    try:
        owner, allowed = staged.lstat().st_uid, (os.geteuid(), root.path.stat().st_uid)
    except OSError as error:
        raise MailTrouble(f"{staged} can't be read: {error}") from error
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
        raise MailTrouble(f"{root.staging} can't be read: {error}") from error

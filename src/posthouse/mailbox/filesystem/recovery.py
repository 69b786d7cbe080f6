"""Deliveries that a killed process left: completed when they were committed, undone when not.

A delivery keeps its staged file beside the canonical one, as a second name of the same file, until everything
is done. So a staged file with two names is a half-done delivery, and says itself whom it is for.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from posthouse.contracts.mail_document import BadDocument, Document
from posthouse.mailbox import front_matter
from posthouse.mailbox.filesystem import databases, locks, placing
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.transport import MailTrouble
from posthouse.support import crashpoints, untrusted_files


def settle_all(root: Root) -> None:
    """Complete or undo every half-done delivery. Costs one look at a folder when there is none.

    Raises:
        MailTrouble: One can't be settled now.
    """
    if any(_half_done(root)):
        with locks.hold(root, [], index=True):
            settle_held(root)


def settle_held(root: Root) -> None:
    """The same for whoever holds the index lock, under which no other delivery can be under way."""
    for staged in list(_half_done(root)):
        try:
            settle(root, staged, front_matter.decode(untrusted_files.read_bytes(staged)))
        except (BadDocument, untrusted_files.UnsafeFile) as error:
            raise MailTrouble(f"{staged} is a half-done delivery that can't be read: {error}") from error


def settle(root: Root, staged: Path, document: Document) -> bool:
    """Complete the delivery of *document* when it was committed, and undo it when not. True: it was.

    The caller holds the index lock. What was undone is still staged.
    """
    with databases.opened(root.index) as index:
        known = databases.run(index, "has_message", message_id=document.message_id).fetchone() is not None
        places = placing.places_of(index, document)
        if known:
            placing.link_all(root, document, places)
            placing.fill(index, document, places)
    crashpoints.reach("delivery judged")
    if known:
        staged.unlink(missing_ok=True)
    else:
        placing.unlink_all(root, document, places)
    return known


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

"""A message's places: its links in the mailboxes that hold it, and its rows in the databases."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from posthouse.contracts.mail_document import Document, Participant
from posthouse.mailbox.filesystem import databases, registration
from posthouse.mailbox.filesystem.databases import run, run_box
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.registration import Registration
from posthouse.mailbox.message import INBOX, SENT
from posthouse.mailbox.transport import MailTrouble
from posthouse.support import crashpoints, files


@dataclass(frozen=True, slots=True)
class Place:
    """A box of a mailbox that holds the message."""

    registration: Registration
    box: str

    def link(self, message_id: str) -> Path:
        return self.registration.folder / self.box / f"{message_id}.md"


def places_of(index: sqlite3.Connection, document: Document) -> list[Place]:
    """Where *document* belongs, as far as its addresses are active: the sender's first."""
    found: list[Place] = []
    wanted = [(document.sender, SENT), *((one, INBOX) for one in document.receivers)]
    for participant, box in wanted:
        owner = registration.active(index, participant.address)
        if owner is not None:
            found.append(Place(owner, box))
    return found


def link_all(root: Root, document: Document, places: Sequence[Place]) -> None:
    """Make every link, durably. Those that are there already are kept.

    Raises:
        MailTrouble: One can't be made.
    """
    target = root.document(document.message_id, document.date)
    try:
        for place in places:
            _link(target, place.link(document.message_id))
            crashpoints.reach("projection linked")
        for place in places:
            files.sync_folder(place.registration.folder / place.box)
    except OSError as error:
        raise MailTrouble(f"{document.message_id} can't be linked: {error}") from error


def unlink_all(root: Root, document: Document, places: Sequence[Place]) -> None:
    """Remove the links and the canonical file of a message that nobody got."""
    target = root.document(document.message_id, document.date)
    for place in places:
        link = place.link(document.message_id)
        if link.is_symlink() and link.readlink() == target:
            link.unlink()
            crashpoints.reach("projection removed")
    target.unlink(missing_ok=True)


def _link(target: Path, link: Path) -> None:
    try:
        link.symlink_to(target)
    except FileExistsError:
        if not link.is_symlink() or link.readlink() != target:
            raise


def commit(index: sqlite3.Connection, root: Root, document: Document, places: Sequence[Place]) -> None:
    """Enter *document* into the index and, with the same commit, into as many mailboxes as SQLite can take.

    The others follow. A crash in between is completed by `recovery`, because the index has it.
    """
    first, *others = _batches(places)
    with ExitStack() as stack:
        opened = _attach(stack, index, first)
        with databases.transaction(index):
            catalogue(index, root, document, places)
            _put_all(index, document, opened)
            crashpoints.reach("message entered")
    crashpoints.reach("message committed")
    for batch in others:
        _fill_batch(index, document, batch)


def fill(index: sqlite3.Connection, document: Document, places: Sequence[Place]) -> None:
    """Enter a message that the index has into every mailbox that misses it."""
    for batch in _batches(places):
        _fill_batch(index, document, batch)


def _fill_batch(index: sqlite3.Connection, document: Document, batch: dict[Registration, str]) -> None:
    with ExitStack() as stack:
        opened = _attach(stack, index, batch)
        with databases.transaction(index):
            _put_all(index, document, opened)
    crashpoints.reach("mailboxes filled")


def _batches(places: Sequence[Place]) -> Iterator[dict[Registration, str]]:
    """The mailboxes and the box that each shows the message in. Mail to oneself is in the inbox."""
    shown = {place.registration: place.box for place in sorted(places, key=lambda one: one.box == INBOX)}
    items = list(shown.items())
    for start in range(0, len(items) or 1, databases.MAX_ATTACHED):
        yield dict(items[start : start + databases.MAX_ATTACHED])


def _attach(
    stack: ExitStack, index: sqlite3.Connection, batch: dict[Registration, str]
) -> list[tuple[str, str]]:
    opened = []
    for number, (owner, box) in enumerate(batch.items()):
        name = stack.enter_context(databases.attached(index, owner.database, f"box{number}"))
        opened.append((name, box))
    return opened


def _put_all(index: sqlite3.Connection, document: Document, opened: list[tuple[str, str]]) -> None:
    for name, box in opened:
        put(index, name, document, box=box, is_read=box == SENT)


def put(
    connection: sqlite3.Connection,
    name: str,
    document: Document,
    *,
    box: str,
    is_read: bool,
    is_archived: bool = False,
) -> None:
    """Enter *document* into the mailbox that is open as *name*. What it has already is left as it is."""
    values = {
        "message_id": document.message_id,
        "thread_id": document.thread_id,
        "created_at_utc": document.created_at_utc,
    }
    run_box(
        connection,
        "put",
        name,
        **values,
        subject=document.subject,
        is_read=int(is_read),
        is_archived=int(is_archived),
        box_name=box,
    )
    run_box(connection, "put_thread", name, **values, normalized_subject=_normalized(document.subject))
    run_box(connection, "count_thread", name, thread_id=document.thread_id)


def catalogue(index: sqlite3.Connection, root: Root, document: Document, places: Sequence[Place]) -> None:
    """Enter what the index knows of a message: its fields and its links."""
    owners = {place.registration.address: place.registration for place in places}
    enter(index, root, document, owners)
    for place in places:
        run(
            index,
            "put_projection",
            registration_id=place.registration.registration_id,
            message_id=document.message_id,
            folder_name=place.box,
            projection_path=str(place.link(document.message_id)),
        )


def enter(index: sqlite3.Connection, root: Root, document: Document, owners: dict[str, Registration]) -> None:
    """Enter what the index knows of a message besides its links."""
    sender = document.sender
    run(
        index,
        "put_message",
        message_id=document.message_id,
        thread_id=document.thread_id,
        in_reply_to=document.in_reply_to,
        created_at_utc=document.created_at_utc,
        canonical_path=str(root.document(document.message_id, document.date)),
        subject=document.subject,
        body_markdown=document.body,
        headers_json=json.dumps(dict(document.headers), sort_keys=True, ensure_ascii=False),
        sender_principal_id=sender.principal_id,
        sender_address=sender.address,
        sender_display_name=sender.display_name,
        sender_manifest_path_hint=sender.manifest_path_hint,
        sender_role=sender.role,
        sender_registration_id=_registration_id(owners, sender),
    )
    for kind, participants in (("to", document.to), ("cc", document.cc)):
        for ordinal, one in enumerate(participants):
            run(
                index,
                "put_recipient",
                message_id=document.message_id,
                recipient_kind=kind,
                ordinal=ordinal,
                address=one.address,
                owner_principal_id=one.principal_id,
                display_name=one.display_name,
                manifest_path_hint=one.manifest_path_hint,
                role=one.role,
                delivered_registration_id=_registration_id(owners, one),
            )
    _enter_attachments(index, document)
    run(
        index,
        "put_thread",
        thread_id=document.thread_id,
        normalized_subject=_normalized(document.subject),
        message_id=document.message_id,
        created_at_utc=document.created_at_utc,
    )


def _enter_attachments(index: sqlite3.Connection, document: Document) -> None:
    for ordinal, one in enumerate(document.attachments):
        run(
            index,
            "put_attachment",
            attachment_id=one.attachment_id,
            kind=one.kind,
            locator=one.path,
            media_type=one.media_type,
            sha256=one.sha256,
            size_bytes=one.size_bytes,
            label=one.label,
        )
        run(
            index,
            "link_attachment",
            message_id=document.message_id,
            attachment_id=one.attachment_id,
            ordinal=ordinal,
        )


def _registration_id(owners: dict[str, Registration], one: Participant) -> str | None:
    owner = owners.get(one.address)
    return None if owner is None else owner.registration_id


def _normalized(subject: str) -> str:
    return subject.strip().lower()

"""Projections of a message: its symlinks in the mailboxes that hold it, and its rows in the databases."""

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
from posthouse.mailbox.transport import MailTransportError
from posthouse.support import crashpoints, files


@dataclass(frozen=True, slots=True)
class Projection:
    """A box of a mailbox that holds the message."""

    registration: Registration
    box: str

    def link(self, message_id: str) -> Path:
        return self.registration.folder / self.box / f"{message_id}.md"


def projections_of(index: sqlite3.Connection, document: Document) -> list[Projection]:
    """The projections of *document* for its active addresses, the sender's first."""
    found: list[Projection] = []
    wanted = [(document.sender, SENT), *((one, INBOX) for one in document.receivers)]
    for participant, box in wanted:
        owner = registration.active(index, participant.address)
        if owner is not None:
            found.append(Projection(owner, box))
    return found


def link_all(root: Root, document: Document, projections: Sequence[Projection]) -> None:
    """Create every link, durably. Existing links are kept.

    Raises:
        MailTransportError: A link can't be created.
    """
    target = root.document(document.message_id, document.date)
    try:
        for projection in projections:
            _link(target, projection.link(document.message_id))
            crashpoints.reach("projection linked")
        for projection in projections:
            files.sync_folder(projection.registration.folder / projection.box)
    except OSError as error:
        raise MailTransportError(f"{document.message_id} can't be linked: {error}") from error


def unlink_all(root: Root, document: Document, projections: Sequence[Projection]) -> None:
    """Remove the links and the canonical file of an undelivered message."""
    target = root.document(document.message_id, document.date)
    for projection in projections:
        link = projection.link(document.message_id)
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


def commit(
    index: sqlite3.Connection, root: Root, document: Document, projections: Sequence[Projection]
) -> None:
    """Insert *document* into the index and, in the same commit, into as many mailboxes as SQLite can attach.

    The others follow. `recovery` completes them after a crash, because the index has the message.
    """
    first, *others = _batches(projections)
    with ExitStack() as stack:
        opened = _attach(stack, index, first)
        with databases.transaction(index):
            insert_with_projections(index, root, document, projections)
            _put_all(index, document, opened)
            crashpoints.reach("message entered")
    crashpoints.reach("message committed")
    for batch in others:
        _fill_batch(index, document, batch)


def complete_mailboxes(
    index: sqlite3.Connection, document: Document, projections: Sequence[Projection]
) -> None:
    """Insert an indexed message into every mailbox where it is missing."""
    for batch in _batches(projections):
        _fill_batch(index, document, batch)


def _fill_batch(index: sqlite3.Connection, document: Document, batch: dict[Registration, str]) -> None:
    with ExitStack() as stack:
        opened = _attach(stack, index, batch)
        with databases.transaction(index):
            _put_all(index, document, opened)
    crashpoints.reach("mailboxes filled")


def _batches(projections: Sequence[Projection]) -> Iterator[dict[Registration, str]]:
    """Batches of mailboxes, each with the box of the message. Mail to oneself is in the inbox."""
    shown = {
        projection.registration: projection.box
        for projection in sorted(projections, key=lambda one: one.box == INBOX)
    }
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
    """Insert *document* into the mailbox attached as *name*. Existing rows are unchanged."""
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


def insert_with_projections(
    index: sqlite3.Connection, root: Root, document: Document, projections: Sequence[Projection]
) -> None:
    """Insert a message into the index, with its projections."""
    owners = {projection.registration.address: projection.registration for projection in projections}
    insert_message(index, root, document, owners)
    for projection in projections:
        run(
            index,
            "put_projection",
            registration_id=projection.registration.registration_id,
            message_id=document.message_id,
            folder_name=projection.box,
            projection_path=str(projection.link(document.message_id)),
        )


def insert_message(
    index: sqlite3.Connection, root: Root, document: Document, owners: dict[str, Registration]
) -> None:
    """Insert a message into the index, without projections."""
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

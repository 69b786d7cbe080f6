"""Reads messages of a mailbox: the canonical document combined with the mailbox's state."""

import json
import os
import sqlite3
import stat
from pathlib import Path

from posthouse.contracts.mail_document import (
    MESSAGE_ID,
    BadDocument,
    Document,
    DocumentAttachment,
    Participant,
)
from posthouse.errors import InvalidInput
from posthouse.mailbox import front_matter
from posthouse.mailbox.filesystem import databases
from posthouse.mailbox.filesystem.databases import run
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.state import MessageState
from posthouse.mailbox.message import Attachment, Message, Party, preview
from posthouse.mailbox.transport import MailTransportError, MessageNotFound

#: Larger documents are refused; sending limits the body.
MAX_DOCUMENT_BYTES = 64 << 20
_PREFIX = "filesystem:"


def reference(message_id: str) -> str:
    return f"{_PREFIX}{message_id}"


def message_id(ref: str) -> str:
    """The message id of a reference; a bare id is accepted too.

    Raises:
        InvalidInput: The reference belongs to another transport.
        MessageNotFound: It is not a valid id.
    """
    bare = ref.strip().removeprefix(_PREFIX)
    if ":" in bare:
        raise InvalidInput(
            f"{ref[:80]!r} is not a message reference of a filesystem mailbox", code="bad_message_ref"
        )
    if not MESSAGE_ID.match(bare):
        raise MessageNotFound(f"there is no message {ref[:80]!r}; a listing shows the existing ones")
    return bare


def load(path: Path | str) -> Document:
    """The document at *path*, read without following a link.

    Raises:
        BadDocument: The file is not a document.
        MailTransportError: It can't be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise MailTransportError(f"{path} can't be read: {error}") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_DOCUMENT_BYTES:
            raise BadDocument(f"{path} is not a regular file of at most {MAX_DOCUMENT_BYTES >> 20} MiB")
        return front_matter.decode(_content(descriptor, found.st_size))
    except BadDocument as error:
        raise BadDocument(f"{path}: {error}") from error
    except OSError as error:
        raise MailTransportError(f"{path} can't be read: {error}") from error
    finally:
        os.close(descriptor)


def _content(descriptor: int, size: int) -> bytes:
    content = os.read(descriptor, size)
    while len(content) < size and (more := os.read(descriptor, size - len(content))):
        content += more
    return content


def message(root: Root, state: MessageState, *, with_body: bool) -> Message:
    """One message of a mailbox. A lost or damaged document is replaced by the data in the index."""
    # A str, because a listing builds thousands, and a Path costs as much as reading the file.
    path = f"{root.path}/messages/{state.created_at_utc[:10]}/{state.message_id}.md"
    try:
        document = load(path)
    except (BadDocument, MailTransportError) as error:
        document = _from_index(root, state, error)
    return of_document(document, state, with_body=with_body)


def of_document(document: Document, state: MessageState, *, with_body: bool) -> Message:
    return Message(
        message_ref=_PREFIX + document.message_id,
        thread_ref=_PREFIX + document.thread_id,
        created_at_utc=document.created_at_utc,
        subject=document.subject,
        sender=party(document.sender),
        to=tuple(map(party, document.to)),
        cc=tuple(map(party, document.cc)),
        reply_to=tuple(map(party, document.reply_to)),
        attachments=tuple(map(_attachment, document.attachments)),
        read=bool(state.is_read),
        answered=bool(state.is_answered),
        archived=bool(state.is_archived),
        box=state.box_name,
        body_preview=preview(document.body),
        body_text=document.body if with_body else None,
        notify_block=document.notify_block,
        notify_auth=document.notify_auth,
    )


def party(one: Participant) -> Party:
    return Party(address=one.address, display_name=one.display_name, principal_id=one.principal_id)


def _attachment(one: DocumentAttachment) -> Attachment:
    return Attachment(
        attachment_id=one.attachment_id,
        kind=one.kind,
        media_type=one.media_type,
        locator=one.path,
        size_bytes=one.size_bytes,
        sha256=one.sha256,
        label=one.label,
    )


def _from_index(root: Root, state: MessageState, error: Exception) -> Document:
    wanted_id = state.message_id
    with databases.opened(root.index) as index:
        row = run(index, "message", message_id=wanted_id).fetchone()
        recipients = list(run(index, "recipients", message_id=wanted_id))
    if row is None:
        return _lost(state, error)
    return Document(
        message_id=wanted_id,
        thread_id=row["thread_id"],
        in_reply_to=row["in_reply_to"],
        created_at_utc=row["created_at_utc"],
        sender=Participant(
            principal_id=row["sender_principal_id"],
            address=row["sender_address"],
            display_name=row["sender_display_name"],
        ),
        to=tuple(_recipient(one) for one in recipients if one["recipient_kind"] == "to"),
        cc=tuple(_recipient(one) for one in recipients if one["recipient_kind"] == "cc"),
        subject=row["subject"],
        body=row["body_markdown"],
        headers=json.loads(row["headers_json"]),
    )


def _lost(state: MessageState, error: Exception) -> Document:
    """A placeholder, so that one lost message does not hide the others of a listing."""
    return Document(
        message_id=state.message_id,
        thread_id=state.thread_id,
        created_at_utc=state.created_at_utc,
        sender=Participant(principal_id="unknown", address="unknown@invalid.local"),
        to=(),
        subject="(this message is lost)",
        body=f"{error}\n\n`mailbox repair` forgets it.",
    )


def _recipient(row: sqlite3.Row) -> Participant:
    return Participant(
        principal_id=row["owner_principal_id"], address=row["address"], display_name=row["display_name"]
    )

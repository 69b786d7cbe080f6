"""The canonical document of a message: its fields, and their form in front matter."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from posthouse.contracts import names
from posthouse.contracts.mail_notice import NotifyAuth, NotifyBlock
from posthouse.errors import InvalidInput
from posthouse.support import ids

MESSAGE_ID = re.compile(r"msg-\d{8}T\d{6}Z-[0-9a-f]{32}\Z", re.ASCII)

KEYS = (
    "protocol_version",
    "message_id",
    "thread_id",
    "in_reply_to",
    "references",
    "created_at_utc",
    "from",
    "to",
    "cc",
    "reply_to",
    "subject",
    "attachments",
    "headers",
    "notify_block",
    "notify_auth",
)


class BadDocument(InvalidInput):
    """It is not a message document; the message names the field."""

    code = "bad_mail_document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """A sender or receiver in a document."""

    principal_id: str
    address: str
    display_name: str | None = None
    manifest_path_hint: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAttachment:
    """An attachment in a document."""

    attachment_id: str
    kind: Literal["path_ref", "managed_copy"]
    path: str
    media_type: str
    sha256: str | None = None
    size_bytes: int | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One message in the mailbox root, shared by sender and receivers."""

    message_id: str
    thread_id: str
    created_at_utc: str
    sender: Participant
    to: tuple[Participant, ...]
    subject: str
    body: str
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    cc: tuple[Participant, ...] = ()
    reply_to: tuple[Participant, ...] = ()
    attachments: tuple[DocumentAttachment, ...] = ()
    headers: Mapping[str, Any] = field(default_factory=dict)
    notify_block: NotifyBlock | None = None
    notify_auth: NotifyAuth | None = None

    @property
    def date(self) -> str:
        """The date folder of the document."""
        return self.created_at_utc[:10]

    @property
    def receivers(self) -> tuple[Participant, ...]:
        """`to` and `cc`, each address once."""
        return tuple({one.address: one for one in reversed((*self.to, *self.cc))}.values())[::-1]


def new_message_id(moment: datetime) -> str:
    """A unique message id. Ids within one second sort by time, which some readers rely on."""
    fraction = f"{(moment.microsecond << 32) // 1_000_000:08x}"
    random = ids.hex_id(22)
    # The digits of a version 4 UUID whose first digits are not random.
    return f"msg-{moment.strftime('%Y%m%dT%H%M%SZ')}-{fraction}{random[:4]}4{random[4:7]}a{random[7:]}"


def created_at(moment: datetime) -> str:
    """`2026-03-13T09:15:30Z`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def to_mapping(document: Document) -> dict[str, Any]:
    """The front matter of *document*, its keys in the contract's order."""
    values = (
        names.MAIL_PROTOCOL,
        document.message_id,
        document.thread_id,
        document.in_reply_to,
        document.references,
        document.created_at_utc,
        _plain(document.sender),
        [_plain(one) for one in document.to],
        [_plain(one) for one in document.cc],
        [_plain(one) for one in document.reply_to],
        document.subject,
        [_plain(one) for one in document.attachments],
        dict(document.headers),
        document.notify_block and _plain(document.notify_block),
        document.notify_auth and _plain(document.notify_auth),
    )
    return dict(zip(KEYS, values, strict=True))


def _plain(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}

"""Mail values, independent of the transport."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from posthouse.contracts.mail_notice import NotifyAuth, NotifyBlock

TransportName = Literal["filesystem", "stalwart"]
AttachmentKind = Literal["path_ref", "managed_copy", "transport_owned"]
ReplyPolicy = Literal["none", "operator_mailbox"]
ReadState = Literal["any", "read", "unread"]
AnsweredState = Literal["any", "answered", "unanswered"]

INBOX, SENT, ARCHIVE, DRAFTS = "inbox", "sent", "archive", "drafts"
_PREVIEW_CHARS = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """A sender or receiver."""

    address: str
    display_name: str | None = None
    principal_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file attached to a message. `Transport.save_attachment` fetches its content."""

    attachment_id: str
    kind: AttachmentKind
    media_type: str
    locator: str | None = None
    size_bytes: int | None = None
    sha256: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message in a mailbox."""

    message_ref: str
    thread_ref: str | None
    created_at_utc: str
    subject: str
    sender: Party
    to: tuple[Party, ...] = ()
    cc: tuple[Party, ...] = ()
    reply_to: tuple[Party, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    read: bool | None = None
    answered: bool | None = None
    archived: bool | None = None
    box: str | None = None
    body_preview: str | None = None
    #: None when it was not requested.
    body_text: str | None = None
    notify_block: NotifyBlock | None = None
    notify_auth: NotifyAuth | None = None

    @property
    def unread(self) -> bool | None:
        return None if self.read is None else not self.read


@dataclass(frozen=True, slots=True, kw_only=True)
class MailFilter:
    """Selects the messages of a listing: the newest that match, newest first."""

    box: str = INBOX
    read_state: ReadState = "any"
    answered_state: AnsweredState = "any"
    archived: bool | None = None
    limit: int | None = None
    #: Inclusive lower bound on `created_at_utc`, ISO-8601.
    since: str | None = None
    include_body: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingAttachment:
    """A file to attach to a new message."""

    path: Path
    label: str | None = None
    #: True: the mailbox stores a copy. False: the message references the file's path.
    is_copied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A new message. Without a `notify_block`, the first `houmao-notify` fence of the body becomes one."""

    to: tuple[str, ...]
    subject: str
    body: str
    cc: tuple[str, ...] = ()
    enclosures: tuple[OutgoingAttachment, ...] = ()
    notify_block: NotifyBlock | None = None
    notify_auth: NotifyAuth | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorNote:
    """A note from the operator into this mailbox."""

    subject: str
    body: str
    reply_policy: ReplyPolicy = "operator_mailbox"
    enclosures: tuple[OutgoingAttachment, ...] = ()
    notify_block: NotifyBlock | None = None
    notify_auth: NotifyAuth | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDraft:
    """A reply. Receivers and subject follow from the answered message."""

    message_ref: str
    body: str
    enclosures: tuple[OutgoingAttachment, ...] = ()
    notify_block: NotifyBlock | None = None
    notify_auth: NotifyAuth | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Changes to a message's state. None leaves a value unchanged."""

    read: bool | None = None
    answered: bool | None = None
    archived: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedAttachment:
    """A saved attachment and its path."""

    path: Path
    attachment: Attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryStatus:
    """State of a message in one receiver's mailbox. None where it is unknown."""

    receiver: Party
    box: str | None = None
    read: bool | None = None
    answered: bool | None = None


def preview(body: str) -> str:
    """The first 240 characters of *body*, whitespace collapsed."""
    collapsed = " ".join(body.split())
    return collapsed if len(collapsed) <= _PREVIEW_CHARS else collapsed[: _PREVIEW_CHARS - 3] + "..."

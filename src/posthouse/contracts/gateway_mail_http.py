"""Bodies of the gateway's mail routes."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from posthouse.contracts.gateway_http import Count, NonBlank, SchemaVersion, Trimmed, Wire
from posthouse.support import clock

TransportName = Literal["filesystem", "stalwart"]
ReadState = Literal["any", "read", "unread"]
AnsweredState = Literal["any", "answered", "unanswered"]
ReplyPolicy = Literal["none", "operator_mailbox"]
Placement = Literal["append", "prepend"]
AuthScheme = Literal["none", "shared-token", "hmac-sha256", "jws"]

MAX_NOTIFY_CHARS = 512
#: A larger request is likely a mistake and would block a storage thread.
_MAX_REFS = 1000
_MAX_RECIPIENTS = 1000
_MAX_ATTACHMENTS = 100
_MAX_SUBJECT_CHARS = 2000


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("a NUL character can't be mailed")
    return text


def _cut(text: str) -> str:
    """Truncate longer notices instead of refusing them."""
    return text if len(text) <= MAX_NOTIFY_CHARS else f"{text[: MAX_NOTIFY_CHARS - 1]}…"


Text = Annotated[str, AfterValidator(_without_nul)]
Subject = Annotated[NonBlank, AfterValidator(_without_nul), Field(max_length=_MAX_SUBJECT_CHARS)]
Refs = Annotated[list[Trimmed], Field(min_length=1, max_length=_MAX_REFS)]


class NotifyBlock(Wire):
    """Text of the sender for the receiver's wake-up prompt."""

    text: Annotated[NonBlank, AfterValidator(_without_nul), AfterValidator(_cut)]
    placement: Placement = "append"


class NotifyAuth(Wire):
    """The sender's proof of authorship. Only `none` is supported yet."""

    scheme: AuthScheme = "none"
    token: Trimmed | None = None
    iss: Trimmed | None = None
    iat: Trimmed | None = None
    exp: Trimmed | None = None

    @field_validator("scheme")
    @classmethod
    def _is_supported(cls, scheme: AuthScheme) -> AuthScheme:
        if scheme != "none":
            raise ValueError(f"notify_auth scheme {scheme!r}: verifier not yet supported")
        return scheme


class AttachmentRequest(Wire):
    """A local file to attach to a message."""

    path: NonBlank
    label: NonBlank | None = None


class ListMail(Wire):
    schema_version: SchemaVersion = 1
    box: Trimmed = "inbox"
    read_state: ReadState = "any"
    answered_state: AnsweredState = "any"
    archived: bool | None = None
    limit: Annotated[int, Field(gt=0)] | None = None
    since: Trimmed | None = None
    include_body: bool = False

    @field_validator("since")
    @classmethod
    def _is_a_time(cls, since: str | None) -> str | None:
        if since is not None:
            try:
                clock.parse(since)
            except (ValueError, OverflowError):
                raise ValueError("not an ISO-8601 time") from None
        return since


class MessageSelector(Wire):
    """Selects one message; with `box`, only in that box."""

    schema_version: SchemaVersion = 1
    message_ref: Trimmed
    box: Trimmed | None = None


class _Composed(Wire):
    """Common fields of new messages."""

    schema_version: SchemaVersion = 1
    body_content: Text
    attachments: Annotated[list[AttachmentRequest], Field(max_length=_MAX_ATTACHMENTS)] = Field(
        default_factory=list
    )
    notify_block: NotifyBlock | None = None
    notify_auth: NotifyAuth | None = None


class SendMail(_Composed):
    to: Annotated[list[Trimmed], Field(min_length=1, max_length=_MAX_RECIPIENTS)]
    cc: Annotated[list[Trimmed], Field(max_length=_MAX_RECIPIENTS)] = Field(default_factory=list)
    subject: Subject


class PostMail(_Composed):
    """A note of the operator to this agent's mailbox."""

    subject: Subject
    reply_policy: ReplyPolicy = "operator_mailbox"


class ReplyMail(_Composed):
    message_ref: Trimmed


class _MessageRefs(Wire):
    schema_version: SchemaVersion = 1
    message_refs: Refs

    @field_validator("message_refs")
    @classmethod
    def _are_unique(cls, refs: list[str]) -> list[str]:
        if len(set(refs)) != len(refs):
            raise ValueError("message_refs must be unique")
        return refs


class MarkMail(_MessageRefs):
    read: bool | None = None
    answered: bool | None = None
    archived: bool | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.read is None and self.answered is None and self.archived is None:
            raise ValueError("give at least one of read, answered and archived")
        return self


class MoveMail(_MessageRefs):
    destination_box: Trimmed


class ArchiveMail(_MessageRefs):
    """Messages to archive."""


class ThreadMail(Wire):
    """Selects a thread by any of its messages."""

    schema_version: SchemaVersion = 1
    message_ref: Trimmed


class SearchMail(Wire):
    schema_version: SchemaVersion = 1
    query: Annotated[NonBlank, Field(max_length=1000)]
    box: Trimmed | None = None
    limit: Annotated[int, Field(gt=0, le=200)] = 20


class Participant(Wire):
    address: str
    display_name: str | None = None
    principal_id: str | None = None


class Attachment(Wire):
    attachment_id: str
    kind: str
    media_type: str
    locator: str | None = None
    size_bytes: Count | None = None
    sha256: str | None = None
    label: str | None = None


class ShownNotifyAuth(Wire):
    """The sender's proof in a stored message, for any scheme."""

    scheme: str
    token: str | None = None
    iss: str | None = None
    iat: str | None = None
    exp: str | None = None


class Message(Wire):
    """One message in one mailbox."""

    message_ref: str
    thread_ref: str | None
    created_at_utc: str
    subject: str
    read: bool | None
    answered: bool | None
    archived: bool | None
    box: str | None
    unread: bool | None
    body_preview: str | None
    body_text: str | None
    sender: Participant
    to: list[Participant]
    cc: list[Participant]
    reply_to: list[Participant]
    attachments: list[Attachment]
    notify_block: NotifyBlock | None
    notify_auth: ShownNotifyAuth | None


class MailStatus(Wire):
    """The mailbox and its owner."""

    schema_version: SchemaVersion = 1
    transport: TransportName
    principal_id: str
    address: str
    bindings_version: str


class _Mailbox(Wire):
    """Common fields: the mailbox of the response."""

    schema_version: SchemaVersion = 1
    transport: TransportName
    principal_id: str
    address: str


class MailList(_Mailbox):
    """Messages, newest first. The counts are those of this page."""

    box: str
    message_count: Count
    open_count: Count
    unread_count: Count
    messages: list[Message]


class MailMessage(_Mailbox):
    operation: Literal["peek", "read"]
    message: Message


class MailAction(_Mailbox):
    operation: Literal["send", "post", "reply"]
    message: Message


class MailLifecycle(_Mailbox):
    operation: Literal["mark", "move", "archive"]
    message_count: Count
    messages: list[Message]


class MailThread(_Mailbox):
    """One thread in this mailbox, oldest first."""

    operation: Literal["thread"] = "thread"
    thread_ref: str | None
    message_count: Count
    messages: list[Message]


class MailSearchResult(_Mailbox):
    """Search results, best match first."""

    operation: Literal["search"] = "search"
    message_count: Count
    messages: list[Message]

"""Mail between agents: the transport interface and its implementations.

Owns messages and their storage. Callers own the mapping of agents to mailboxes, and wake-ups.
"""

from posthouse.contracts.mail_notice import NotifyAuth, NotifyBlock
from posthouse.mailbox.message import (
    ARCHIVE,
    DRAFTS,
    INBOX,
    SENT,
    Attachment,
    DeliveryStatus,
    Draft,
    Flags,
    MailFilter,
    Message,
    OperatorNote,
    OutgoingAttachment,
    Party,
    ReplyDraft,
    SavedAttachment,
)
from posthouse.mailbox.transport import (
    BadMail,
    MailboxUnusable,
    MailTransportError,
    MessageNotFound,
    Transport,
    UnknownRecipient,
    UnsupportedMailOperation,
    Watch,
)

__all__ = [
    "ARCHIVE",
    "DRAFTS",
    "INBOX",
    "SENT",
    "Attachment",
    "BadMail",
    "DeliveryStatus",
    "Draft",
    "Flags",
    "MailFilter",
    "MailTransportError",
    "MailboxUnusable",
    "Message",
    "MessageNotFound",
    "NotifyAuth",
    "NotifyBlock",
    "OperatorNote",
    "OutgoingAttachment",
    "Party",
    "ReplyDraft",
    "SavedAttachment",
    "Transport",
    "UnknownRecipient",
    "UnsupportedMailOperation",
    "Watch",
]

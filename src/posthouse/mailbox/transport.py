"""The interface of one mailbox, independent of its transport.

Calls block on storage or network: call them from a worker thread, never from an event loop. They are
thread-safe. After any error but `MailTransportError` nothing was changed.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from posthouse.errors import InvalidInput, NotFound, Unavailable
from posthouse.mailbox.message import (
    DeliveryStatus,
    Draft,
    Flags,
    MailFilter,
    Message,
    OperatorNote,
    ReplyDraft,
    SavedAttachment,
    TransportName,
)


class MessageNotFound(NotFound):
    """No message of this mailbox has that reference."""

    code = "message_not_found"


class BadMail(InvalidInput):
    """The message itself can't be sent; the message names the rule it breaks."""

    code = "bad_mail"


class UnknownRecipient(InvalidInput):
    """No mailbox is active for that address."""

    code = "unknown_recipient"


class UnsupportedMailOperation(InvalidInput):
    """The transport or the message does not support the operation."""

    code = "unsupported_mail_operation"


class MailboxUnusable(InvalidInput):
    """The mailbox of the binding does not exist or has another owner."""

    code = "mailbox_unusable"


class MailTransportError(Unavailable):
    """Storage or server failed. The operation may have happened; check the mailbox."""

    code = "mail_transport"


class Watch(Protocol):
    """A subscription to mailbox changes."""

    def close(self) -> None:
        """Cancel the subscription. A second call does nothing."""


class Transport(Protocol):
    """One mailbox."""

    @property
    def name(self) -> TransportName: ...

    @property
    def principal_id(self) -> str: ...

    @property
    def address(self) -> str: ...

    def check(self) -> None:
        """Verify that the mailbox can be used.

        Raises:
            MailboxUnusable: It can't be used; the message says why and what to do.
            MailTransportError: The check failed.
        """

    def find(self, wanted: MailFilter) -> list[Message]:
        """The newest matching messages, newest first; within one second by arrival."""

    def peek(self, message_ref: str, *, box: str | None = None) -> Message:
        """One message with its body. Its state is unchanged.

        Raises:
            MessageNotFound: It is not in this mailbox.
            InvalidInput: It is not in *box*.
        """

    def read(self, message_ref: str, *, box: str | None = None) -> Message:
        """One message with its body, marked read. Raises the errors of `peek`."""

    def thread(self, thread_ref: str, *, limit: int | None = None) -> list[Message]:
        """The newest *limit* messages of a thread in this mailbox, with bodies, oldest first.

        Raises:
            MessageNotFound: The mailbox has no message of the thread.
        """

    def delivery_status(self, message_ref: str) -> list[DeliveryStatus]:
        """The state of a message at each of its receivers.

        Raises:
            MessageNotFound: It is not in this mailbox.
            UnsupportedMailOperation: This transport can't read other mailboxes.
        """

    def send(self, draft: Draft) -> Message:
        """Deliver a message and return the sender's copy. It is then on disk for every receiver.

        Raises:
            BadMail: Subject, body or notice are invalid.
            UnknownRecipient: No mailbox is active for an address; nothing was delivered.
            InvalidInput: An address is malformed, or a file can't be attached; nothing was delivered.
        """

    def post(self, note: OperatorNote) -> Message:
        """Deliver a note of the operator. Raises the errors of `send`, and `UnsupportedMailOperation`."""

    def reply(self, answer: ReplyDraft) -> Message:
        """Answer a message, and mark it read and answered here. Raises the errors of `send`, and:

        Raises:
            MessageNotFound: The answered message is not in this mailbox.
            UnsupportedMailOperation: The message accepts no replies.
        """

    def mark(self, message_refs: Sequence[str], flags: Flags) -> list[Message]:
        """Change the state of all messages or, when one is unknown, of none. `archived` moves them.

        Raises:
            MessageNotFound: One is not in this mailbox.
            InvalidInput: Archived and unread at once.
        """

    def move(self, message_refs: Sequence[str], box: str) -> list[Message]:
        """Move all messages or none into *box*, creating it if needed.

        Raises:
            MessageNotFound: One is not in this mailbox.
            InvalidInput: The box name is invalid.
        """

    def archive(self, message_refs: Sequence[str]) -> list[Message]:
        """Move messages to the archive."""

    def save_attachment(self, message_ref: str, attachment_id: str, target: Path) -> SavedAttachment:
        """Copy an attachment to the folder or new file *target*, checking its hash. Nothing is overwritten.

        Raises:
            MessageNotFound: There is no such message.
            InvalidInput: It has no such attachment, the file is missing or changed, or *target* exists.
        """

    def search(self, words: str, *, box: str | None = None, limit: int = 20) -> list[Message]:
        """Messages with all *words* in subject, body or addresses, best first, without bodies.

        Raises:
            UnsupportedMailOperation: This transport can't search.
        """

    def watch(self, on_change: Callable[[], None]) -> Watch:
        """Call *on_change* on the running event loop after mail may have arrived or changed; no polling.

        Spurious calls are possible. The caller closes the watch.

        Raises:
            MailTransportError: The mailbox can't be watched.
        """

    def close(self) -> None:
        """Release the transport's resources. A second call does nothing."""

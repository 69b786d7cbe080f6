"""One mailbox, whatever carries its mail.

Calls block on storage or network: call them from a worker thread, never from an event loop. Calls from
several threads are safe. After any error but `MailTrouble` nothing was changed.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from posthouse.errors import InvalidInput, NotFound, Unavailable
from posthouse.mailbox.message import (
    Answer,
    Draft,
    Filter,
    Flags,
    Message,
    Note,
    Reception,
    Saved,
    TransportName,
)


class MessageNotFound(NotFound):
    """No message of this mailbox has that reference."""

    code = "message_not_found"


class BadReference(InvalidInput):
    """The reference belongs to another transport or is none at all."""

    code = "bad_message_ref"


class BadMail(InvalidInput):
    """The message itself can't be sent; the words say which rule it breaks."""

    code = "bad_mail"


class UnknownRecipient(InvalidInput):
    """Nobody receives mail under that address here."""

    code = "unknown_recipient"


class BadAttachment(InvalidInput):
    """The file is not there, is no plain file, or is too big."""

    code = "bad_attachment"


class BoxMismatch(InvalidInput):
    """The message is in another box than the caller said."""

    code = "box_mismatch"


class BadBox(InvalidInput):
    """A box can't have that name."""

    code = "bad_box"


class BadFilter(InvalidInput):
    """Nothing can be looked for like this."""

    code = "bad_mail_filter"


class ContradictoryFlags(InvalidInput):
    """What is archived is read."""

    code = "contradictory_flags"


class UnsupportedMail(InvalidInput):
    """This transport, or this message, does not allow that."""

    code = "unsupported_mail_operation"


class MailboxUnusable(InvalidInput):
    """The binding names a mailbox that is not there, or is another's."""

    code = "mailbox_unusable"


class MailTrouble(Unavailable):
    """Storage or server failed. What was asked may have happened; a look at the mailbox tells."""

    code = "mail_transport"


class Watch(Protocol):
    """A standing wish to be told of changes."""

    def close(self) -> None:
        """Stop being told. A second call does nothing."""


class Transport(Protocol):
    """One mailbox."""

    @property
    def name(self) -> TransportName: ...

    @property
    def principal_id(self) -> str: ...

    @property
    def address(self) -> str: ...

    def check(self) -> None:
        """Return when the mailbox can be used.

        Raises:
            MailboxUnusable: It can't; the message says why and what to do.
            MailTrouble: That could not be found out.
        """

    def find(self, wanted: Filter) -> list[Message]:
        """The newest messages that fit, newest first; those of one second in the order of their arrival."""

    def peek(self, message_ref: str, *, box: str | None = None) -> Message:
        """One message with its body, its state unchanged.

        Raises:
            MessageNotFound: It is not in this mailbox.
            BoxMismatch: It is not in *box*.
        """

    def read(self, message_ref: str, *, box: str | None = None) -> Message:
        """One message with its body, now marked read. Raises what `peek` raises."""

    def thread(self, thread_ref: str, *, limit: int | None = None) -> list[Message]:
        """The newest *limit* messages of a thread that this mailbox holds, with bodies, oldest first.

        Raises:
            MessageNotFound: It holds none of it.
        """

    def receptions(self, message_ref: str) -> list[Reception]:
        """What each receiver of a message did with it so far.

        Raises:
            MessageNotFound: It is not in this mailbox.
            UnsupportedMail: This transport does not see into other mailboxes.
        """

    def send(self, draft: Draft) -> Message:
        """Deliver a message and return it as its sender holds it: it is on disk, for everybody.

        Raises:
            BadMail: Subject, body or notice break a rule.
            UnknownRecipient: An address is none, or nobody receives mail there; nobody got anything.
            BadAttachment: A file can't be attached.
        """

    def post(self, note: Note) -> Message:
        """Deliver a note of the operator here. Raises what `send` raises, and `UnsupportedMail`."""

    def reply(self, answer: Answer) -> Message:
        """Answer a message, and mark it read and answered here. Raises what `send` raises, and:

        Raises:
            MessageNotFound: The answered message is not in this mailbox.
            UnsupportedMail: Its sender takes no answers.
        """

    def mark(self, message_refs: Sequence[str], flags: Flags) -> list[Message]:
        """Change the state of messages: all of them or, when one is unknown, none. `archived` moves them.

        Raises:
            MessageNotFound: One is not in this mailbox.
            ContradictoryFlags: Archived and unread.
        """

    def move(self, message_refs: Sequence[str], box: str) -> list[Message]:
        """Put messages into *box*, which is made when it is not there. All of them or none.

        Raises:
            MessageNotFound: One is not in this mailbox.
            BadBox: No box can have that name.
        """

    def archive(self, message_refs: Sequence[str]) -> list[Message]:
        """Move messages to the archive."""

    def save_attachment(self, message_ref: str, attachment_id: str, target: Path) -> Saved:
        """Copy an attachment into the folder or new file *target*, its hash checked. Nothing is overwritten.

        Raises:
            MessageNotFound: There is no such message.
            BadAttachment: It has no such attachment, or the file is gone or changed, or *target* exists.
        """

    def search(self, words: str, *, box: str | None = None, limit: int = 20) -> list[Message]:
        """Messages that hold every one of *words* in subject, body or addresses, best first, bodies left out.

        Raises:
            UnsupportedMail: This transport can't search.
        """

    def watch(self, on_change: Callable[[], None]) -> Watch:
        """Call *on_change* on the running event loop after mail may have come or changed. Idle costs nothing.

        May also tell of what changed nothing. Whoever asked closes it.

        Raises:
            MailTrouble: It can't be watched.
        """

    def close(self) -> None:
        """Give up what the transport holds. A second call does nothing."""

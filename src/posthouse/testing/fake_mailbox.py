"""A mailbox in memory that obeys its test: it can hang, fail, and be given mail."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from posthouse.contracts import manifest as m
from posthouse.mailbox import (
    ARCHIVE,
    INBOX,
    SENT,
    DeliveryStatus,
    Draft,
    Flags,
    MailFilter,
    Message,
    MessageNotFound,
    NotifyAuth,
    NotifyBlock,
    OperatorNote,
    Party,
    ReplyDraft,
    SavedAttachment,
    UnsupportedMailOperation,
)
from posthouse.mailbox.message import TransportName, preview

BINDING = m.FilesystemMailbox(
    principal_id="HOUMAO-gpu",
    address="gpu@houmao.localhost",
    bindings_version="2026-03-19T08:00:00.000001Z",
    filesystem_root="/mail",
)


class FakeMailbox:
    """One mailbox. What it sends lies in its own `sent` and nowhere else."""

    def __init__(self) -> None:
        self._messages: dict[str, Message] = {}
        self._is_free = threading.Event()
        self._is_free.set()
        self._on_change: Callable[[], None] = lambda: None
        #: What every call ends with.
        self.failure: Exception | None = None
        self.is_watched = False

    @property
    def name(self) -> TransportName:
        return "filesystem"

    @property
    def principal_id(self) -> str:
        return BINDING.principal_id

    @property
    def address(self) -> str:
        return BINDING.address

    def hang(self) -> None:
        """Answer nothing until `let_go`."""
        self._is_free.clear()

    def let_go(self) -> None:
        self._is_free.set()

    def receive(
        self,
        subject: str,
        *,
        body: str = "",
        block: NotifyBlock | None = None,
        auth: NotifyAuth | None = None,
    ) -> str:
        """Be given a message; its reference. Call it on the loop."""
        ref = self._keep(subject, body, box=INBOX, block=block, auth=auth, sender="a@houmao.localhost")
        self._on_change()
        return ref

    def check(self) -> None:
        self._obey()

    def find(self, wanted: MailFilter) -> list[Message]:
        self._obey()
        fitting = [one for one in reversed(self._messages.values()) if _fits(one, wanted)]
        return fitting[: wanted.limit]

    def peek(self, message_ref: str, *, box: str | None = None) -> Message:
        self._obey()
        return self._known(message_ref)

    def read(self, message_ref: str, *, box: str | None = None) -> Message:
        return self._changed(message_ref, read=True)

    def thread(self, thread_ref: str, *, limit: int | None = None) -> list[Message]:
        return [one for one in self._messages.values() if one.thread_ref == thread_ref]

    def delivery_status(self, message_ref: str) -> list[DeliveryStatus]:
        raise UnsupportedMailOperation("this mailbox sees no other")

    def send(self, draft: Draft) -> Message:
        self._obey()
        ref = self._keep(
            draft.subject,
            draft.body,
            box=SENT,
            block=draft.notify_block,
            auth=draft.notify_auth,
            to=draft.to,
            sender=self.address,
        )
        return self._messages[ref]

    def post(self, note: OperatorNote) -> Message:
        self._obey()
        ref = self._keep(note.subject, note.body, box=INBOX, block=note.notify_block, auth=note.notify_auth)
        return self._messages[ref]

    def reply(self, answer: ReplyDraft) -> Message:
        parent = self._changed(answer.message_ref, read=True, answered=True)
        return self.send(
            Draft(to=(parent.sender.address,), subject=f"Re: {parent.subject}", body=answer.body)
        )

    def mark(self, message_refs: Sequence[str], flags: Flags) -> list[Message]:
        given = {"read": flags.read, "answered": flags.answered, "archived": flags.archived}
        changes = {name: value for name, value in given.items() if value is not None}
        return [self._changed(ref, **changes) for ref in message_refs]

    def move(self, message_refs: Sequence[str], box: str) -> list[Message]:
        return [self._changed(ref, box=box, archived=box == ARCHIVE) for ref in message_refs]

    def archive(self, message_refs: Sequence[str]) -> list[Message]:
        return self.move(message_refs, ARCHIVE)

    def save_attachment(self, message_ref: str, attachment_id: str, target: Path) -> SavedAttachment:
        raise UnsupportedMailOperation("this mailbox has no attachments")

    def search(self, words: str, *, box: str | None = None, limit: int = 20) -> list[Message]:
        self._obey()
        return [one for one in self._messages.values() if words in (one.body_text or "")][:limit]

    def watch(self, on_change: Callable[[], None]) -> "FakeMailbox":
        self._on_change, self.is_watched = on_change, True
        return self

    def close(self) -> None:
        self._on_change, self.is_watched = lambda: None, False

    def _keep(
        self,
        subject: str,
        body: str,
        *,
        box: str,
        block: NotifyBlock | None,
        auth: NotifyAuth | None,
        to: Sequence[str] = (BINDING.address,),
        sender: str = "HOUMAO-operator@houmao.localhost",
    ) -> str:
        number = len(self._messages) + 1
        ref = f"filesystem:msg-20260319T080000Z-{number:032x}"
        self._messages[ref] = Message(
            message_ref=ref,
            thread_ref=ref,
            created_at_utc=f"2026-03-19T08:00:{number % 60:02d}Z",
            subject=subject,
            sender=Party(address=sender),
            to=tuple(Party(address=address) for address in to),
            read=box == SENT,
            answered=False,
            archived=False,
            box=box,
            body_preview=preview(body),
            body_text=body,
            notify_block=block,
            notify_auth=auth,
        )
        return ref

    def _known(self, ref: str) -> Message:
        if ref not in self._messages:
            raise MessageNotFound(f"there is no message {ref}")
        return self._messages[ref]

    def _changed(self, ref: str, **changes: object) -> Message:
        self._obey()
        self._messages[ref] = replace(self._known(ref), **changes)  # type: ignore[arg-type]  # by our own names
        return self._messages[ref]

    def _obey(self) -> None:
        self._is_free.wait()
        if self.failure is not None:
            raise self.failure


def _fits(one: Message, wanted: MailFilter) -> bool:
    return (
        one.box == wanted.box
        and wanted.archived in (None, one.archived)
        and (wanted.read_state == "any" or (wanted.read_state == "read") == one.read)
    )

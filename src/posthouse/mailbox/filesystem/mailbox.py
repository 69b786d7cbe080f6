"""One mailbox of a root on disk, as a transport."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from posthouse.contracts.mail_document import BadDocument, Document, Participant
from posthouse.contracts.mail_notice import NotifyAuth, NotifyBlock
from posthouse.errors import InvalidInput
from posthouse.mailbox.filesystem import (
    attachments,
    composition,
    databases,
    delivery,
    folders,
    open_root,
    reading,
    register_mailbox,
    registration,
    search,
    state,
)
from posthouse.mailbox.filesystem.composition import Content
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.registration import Registration
from posthouse.mailbox.filesystem.state import MessageState, StateChange
from posthouse.mailbox.message import (
    ARCHIVE,
    INBOX,
    SENT,
    DeliveryStatus,
    Draft,
    Flags,
    MailFilter,
    Message,
    OperatorNote,
    OutgoingAttachment,
    ReplyDraft,
    SavedAttachment,
    TransportName,
)
from posthouse.mailbox.transport import (
    MailboxUnusable,
    MailTransportError,
    MessageNotFound,
    UnknownRecipient,
    Watch,
)
from posthouse.support import clock
from posthouse.support.inotify import FolderWatch

_MAX_THREAD = 10_000


@dataclass(frozen=True, slots=True)
class FilesystemMailbox:
    """The mailbox of one address. It caches nothing: every call reads the root."""

    root: Root
    address: str
    principal_id: str

    @property
    def name(self) -> TransportName:
        return "filesystem"

    def check(self) -> None:
        folder = self._owner().folder
        if not folders.is_whole(folder):
            raise MailboxUnusable(
                f"the mailbox of {self.address} at {folder} is incomplete; run `mailbox repair`"
            )

    def find(self, wanted: MailFilter) -> list[Message]:
        rows = state.listing(self._owner(), wanted, since=_whole_second(wanted.since))
        return [reading.message(self.root, row, with_body=wanted.include_body) for row in rows]

    def peek(self, message_ref: str, *, box: str | None = None) -> Message:
        return reading.message(self.root, self._state(message_ref, box), with_body=True)

    def read(self, message_ref: str, *, box: str | None = None) -> Message:
        found = self._state(message_ref, box)
        if not found.is_read:
            state.change(self.root, self._owner(), [found.message_id], StateChange(is_read=True))
        return self.peek(message_ref)

    def thread(self, thread_ref: str, *, limit: int | None = None) -> list[Message]:
        thread_id = reading.message_id(thread_ref)
        rows = state.thread(self._owner(), thread_id, limit=min(limit or _MAX_THREAD, _MAX_THREAD))
        if not rows:
            raise MessageNotFound(f"the mailbox of {self.address} has no thread {thread_ref[:80]!r}")
        return [reading.message(self.root, row, with_body=True) for row in reversed(rows)]

    def delivery_status(self, message_ref: str) -> list[DeliveryStatus]:
        document = self._document(self._state(message_ref, None))
        with databases.opened(self.root.index) as index:
            owners = [registration.active(index, one.address) for one in document.receivers]
        return [
            _delivery_status(one, owner, document.message_id)
            for one, owner in zip(document.receivers, owners, strict=True)
        ]

    def send(self, draft: Draft) -> Message:
        with databases.opened(self.root.index) as index:
            me = _participant(self._registration(index))
            to = [self._receiver(index, address) for address in draft.to]
            cc = [self._receiver(index, address) for address in draft.cc]
        return self._deliver(
            lambda content: composition.new_message(me, to, content, cc=cc),
            draft.subject,
            draft.body,
            _extras(draft),
        )

    def post(self, note: OperatorNote) -> Message:
        register_mailbox.ensure_operator(self.root)
        me = _participant(self._owner())
        return self._deliver(
            lambda content: composition.operator_note(delivery.operator(), me, content, note.reply_policy),
            note.subject,
            note.body,
            _extras(note),
        )

    def reply(self, answer: ReplyDraft) -> Message:
        parent = self._document(self._state(answer.message_ref, None))
        me = _participant(self._owner())
        sent = self._deliver(
            lambda content: composition.reply(me, parent, content),
            composition.reply_subject(parent.subject),
            answer.body,
            _extras(answer),
        )
        marks = StateChange(is_read=True, is_answered=True)
        state.change(self.root, self._owner(), [parent.message_id], marks)
        return sent

    def mark(self, message_refs: Sequence[str], flags: Flags) -> list[Message]:
        if flags.archived and flags.read is False:
            raise InvalidInput(
                "what is archived is read; it can't be marked unread too", code="contradictory_flags"
            )
        wanted = [reading.message_id(ref) for ref in message_refs]
        change = StateChange(is_read=flags.read, is_answered=flags.answered)
        if flags.archived is None:
            state.change(self.root, self._owner(), wanted, change)
        else:
            box = ARCHIVE if flags.archived else INBOX
            state.move(self.root, self._owner(), wanted, box, change)
        return self._messages(wanted)

    def move(self, message_refs: Sequence[str], box: str) -> list[Message]:
        wanted = [reading.message_id(ref) for ref in message_refs]
        state.move(self.root, self._owner(), wanted, box)
        return self._messages(wanted)

    def archive(self, message_refs: Sequence[str]) -> list[Message]:
        return self.move(message_refs, ARCHIVE)

    def save_attachment(self, message_ref: str, attachment_id: str, target: Path) -> SavedAttachment:
        row = self._state(message_ref, None)
        for one in self._document(row).attachments:
            if one.attachment_id == attachment_id:
                path = attachments.save(self.root, one, target)
                listed = reading.message(self.root, row, with_body=False).attachments
                return SavedAttachment(
                    path=path, attachment=next(a for a in listed if a.attachment_id == attachment_id)
                )
        raise InvalidInput(
            f"message {row.message_id} has no attachment {attachment_id[:80]!r}", code="bad_attachment"
        )

    def search(self, words: str, *, box: str | None = None, limit: int = 20) -> list[Message]:
        owner = self._owner()
        found = search.search(self.root, owner, words, box=box, limit=limit)
        return [reading.message(self.root, row, with_body=False) for row in found]

    def watch(self, on_change: Callable[[], None]) -> Watch:
        folder = self._owner().folder
        try:
            return FolderWatch(folder, on_change)
        except OSError as error:
            raise MailTransportError(f"{folder} can't be watched: {error}") from error

    def close(self) -> None:
        """Nothing is held between calls."""

    def _owner(self) -> Registration:
        with databases.opened(self.root.index) as index:
            return self._registration(index)

    def _registration(self, index: sqlite3.Connection) -> Registration:
        found = registration.active(index, self.address)
        if found is None:
            raise MailboxUnusable(f"{self.address} has no active mailbox in {self.root.path}; register it")
        if found.owner_principal_id != self.principal_id:
            raise MailboxUnusable(
                f"{self.address} in {self.root.path} belongs to {found.owner_principal_id}, "
                f"and not to {self.principal_id}"
            )
        return found

    def _receiver(self, index: sqlite3.Connection, text: str) -> Participant:
        address = composition.parse_address(text)
        found = registration.active(index, address)
        if found is None:
            raise UnknownRecipient(delivery.unreachable_reason(index, self.root, address))
        return _participant(found)

    def _deliver(
        self, compose: Callable[[Content], Document], subject: str, body: str, extras: "_Extras"
    ) -> Message:
        enclosed = attachments.attach(self.root, extras.enclosures)
        try:
            document = compose(
                Content(
                    subject=subject,
                    body=body,
                    attachments=enclosed,
                    notify_block=extras.notify_block,
                    notify_auth=extras.notify_auth,
                )
            )
            delivery.send(self.root, document)
        except BaseException as error:
            if not isinstance(error, MailTransportError):  # which may mean that it was delivered
                attachments.discard(self.root, enclosed)
            raise
        return reading.of_document(document, self._state_of_new(document), with_body=True)

    def _state_of_new(self, document: Document) -> MessageState:
        """State in this mailbox of a message that was just delivered."""
        is_mine = any(one.address == self.address for one in document.receivers)
        return MessageState(
            message_id=document.message_id,
            thread_id=document.thread_id,
            created_at_utc=document.created_at_utc,
            is_read=int(not is_mine),
            is_answered=0,
            is_archived=0,
            box_name=INBOX if is_mine else SENT,
        )

    def _state(self, message_ref: str, box: str | None) -> MessageState:
        [found] = state.states(self._owner(), [reading.message_id(message_ref)])
        if box is not None and found.box_name != box.strip():
            raise InvalidInput(
                f"message {found.message_id} is in {found.box_name!r}, not in {box.strip()!r}",
                code="box_mismatch",
            )
        return found

    def _messages(self, message_ids: Sequence[str]) -> list[Message]:
        rows = state.states(self._owner(), message_ids)
        return [reading.message(self.root, row, with_body=True) for row in rows]

    def _document(self, row: MessageState) -> Document:
        path = self.root.document(row.message_id, row.created_at_utc[:10])
        try:
            return reading.load(path)
        except BadDocument as error:
            raise MailTransportError(f"message {row.message_id} is damaged: {error}") from error


def open_mailbox(path: Path, *, address: str, principal_id: str) -> FilesystemMailbox:
    """The mailbox of *address* in the root at *path*.

    Raises:
        MailboxUnusable: The root is invalid, or has no such mailbox of that principal.
        MailTransportError: It can't be read.
    """
    mailbox = FilesystemMailbox(open_root.open_root(path), address, principal_id)
    mailbox.check()
    databases.complete(mailbox._owner().database)
    return mailbox


@dataclass(frozen=True, slots=True)
class _Extras:
    enclosures: tuple[OutgoingAttachment, ...]
    notify_block: NotifyBlock | None
    notify_auth: NotifyAuth | None


def _extras(asked: Draft | OperatorNote | ReplyDraft) -> _Extras:
    return _Extras(asked.enclosures, asked.notify_block, asked.notify_auth)


def _participant(owner: Registration) -> Participant:
    return Participant(
        principal_id=owner.owner_principal_id,
        address=owner.address,
        display_name=owner.display_name,
        manifest_path_hint=owner.manifest_path_hint,
        role=owner.role,
    )


def _delivery_status(receiver: Participant, owner: Registration | None, message_id: str) -> DeliveryStatus:
    party = reading.party(receiver)
    if owner is None or owner.owner_principal_id != receiver.principal_id:
        return DeliveryStatus(receiver=party)
    try:
        [row] = state.states(owner, [message_id])
    except MessageNotFound:
        return DeliveryStatus(receiver=party)
    return DeliveryStatus(
        receiver=party, box=row.box_name, read=bool(row.is_read), answered=bool(row.is_answered)
    )


def _whole_second(since: str | None) -> str:
    """*since* rounded up to a whole second, in the format of documents."""
    if since is None:
        return ""
    try:
        moment = clock.parse(since.strip())
        if moment.microsecond:
            moment = moment.replace(microsecond=0) + timedelta(seconds=1)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"since is {since[:40]!r}, which is not an ISO-8601 time", code="bad_mail_filter"
        ) from error
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

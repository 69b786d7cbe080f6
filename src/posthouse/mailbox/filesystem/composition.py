"""Composes documents from a sender's input."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from posthouse.contracts import mail_address, mail_document, mail_notice, mail_reading, names
from posthouse.contracts.mail_document import BadDocument, Document, DocumentAttachment, Participant
from posthouse.contracts.mail_notice import NotifyAuth, NotifyBlock
from posthouse.mailbox.message import ReplyPolicy
from posthouse.mailbox.transport import BadMail, UnsupportedMailOperation
from posthouse.support import clock

MAX_BODY_BYTES = 4 << 20
_MAX_SUBJECT_CHARS = 998
#: The thread's root and the newest references are kept.
_KEPT_REFERENCES = 100
#: Line breaks and control characters: a subject must be one line, also in prompts.
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Content of a new message, independent of its receivers."""

    subject: str
    body: str
    attachments: tuple[DocumentAttachment, ...] = ()
    notify_block: NotifyBlock | None = None
    notify_auth: NotifyAuth | None = None


def new_message(
    sender: Participant, to: Sequence[Participant], content: Content, *, cc: Sequence[Participant] = ()
) -> Document:
    """A message that starts a thread.

    Raises:
        BadMail: The content is invalid.
    """
    moment = clock.now()
    message_id = mail_document.new_message_id(moment)
    body, block = _with_notice(content)
    return _checked(
        Document(
            message_id=message_id,
            thread_id=message_id,
            created_at_utc=mail_document.created_at(moment),
            sender=sender,
            to=tuple(to),
            cc=tuple(cc),
            subject=_one_line(content.subject),
            body=body,
            attachments=content.attachments,
            notify_block=block,
            notify_auth=content.notify_auth,
        )
    )


def operator_note(operator: Participant, to: Participant, content: Content, policy: ReplyPolicy) -> Document:
    """A note of the operator. Raises what `new` raises."""
    return replace(
        new_message(operator, [to], content),
        headers={names.ORIGIN_HEADER: "operator", names.REPLY_POLICY_HEADER: policy},
        reply_to=(operator,) if policy == "operator_mailbox" else (),
    )


def reply(sender: Participant, parent: Document, content: Content) -> Document:
    """A reply to *parent*. Raises what `new` raises, and:

    Raises:
        UnsupportedMailOperation: It is an operator note without replies.
    """
    headers = parent.headers
    if headers.get(names.ORIGIN_HEADER) == "operator" and headers.get(names.REPLY_POLICY_HEADER) == "none":
        raise UnsupportedMailOperation(f"{parent.message_id} is a note of the operator that takes no answer")
    begun = new_message(sender, parent.reply_to or (parent.sender,), content)
    known = (*parent.references, parent.message_id)
    kept = known if len(known) <= _KEPT_REFERENCES else (known[0], *known[1 - _KEPT_REFERENCES :])
    return replace(begun, thread_id=parent.thread_id, in_reply_to=parent.message_id, references=kept)


def reply_subject(subject: str) -> str:
    return subject if subject.lower().startswith("re:") else f"Re: {subject}"


def parse_address(text: str) -> str:
    """A full address. Raises `InvalidInput` with a hint for anything else."""
    return mail_address.check(text.strip())


def _with_notice(content: Content) -> tuple[str, NotifyBlock | None]:
    if "\0" in content.body:
        raise BadMail("the body holds a NUL")
    if content.notify_block is None:
        return content.body, mail_notice.extract(content.body)
    block = content.notify_block
    if not block.text.strip() or "\0" in block.text:
        raise BadMail("notify_block.text is blank or holds a NUL")
    block = replace(block, text=mail_notice.shortened(block.text))
    return mail_notice.mirrored(content.body, block), block


def _one_line(subject: str) -> str:
    line = _BREAKS.sub(" ", subject).strip()
    if not line:
        raise BadMail("the subject is blank")
    if len(line) > _MAX_SUBJECT_CHARS:
        raise BadMail(f"the subject is longer than {_MAX_SUBJECT_CHARS} characters")
    return line


def _checked(document: Document) -> Document:
    """Validate *document* with the checks of the reader."""
    front = mail_document.to_mapping(document)
    try:
        size = len(document.body.encode())
        json.dumps(front, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadMail("a text or file name is not UTF-8: it holds half a character") from None
    if size > MAX_BODY_BYTES:
        raise BadMail(f"the body is {size} bytes long; {MAX_BODY_BYTES} is the limit, so attach it as a file")
    try:
        return mail_reading.from_mapping(front, document.body)
    except BadDocument as error:
        raise BadMail(str(error)) from error

"""Converts HTTP requests into values of the mailbox package. Pure."""

from pathlib import Path

from posthouse.contracts import gateway_mail_http as wire
from posthouse.mailbox import (
    Draft,
    Flags,
    MailFilter,
    NotifyAuth,
    NotifyBlock,
    OperatorNote,
    OutgoingAttachment,
    ReplyDraft,
)


def filter_of(asked: wire.ListMail) -> MailFilter:
    return MailFilter(
        box=asked.box,
        read_state=asked.read_state,
        answered_state=asked.answered_state,
        archived=asked.archived,
        limit=asked.limit,
        since=asked.since,
        include_body=asked.include_body,
    )


def draft_of(asked: wire.SendMail) -> Draft:
    return Draft(
        to=tuple(asked.to),
        cc=tuple(asked.cc),
        subject=asked.subject,
        body=asked.body_content,
        enclosures=_enclosures(asked.attachments),
        notify_block=_block(asked.notify_block),
        notify_auth=_auth(asked.notify_auth),
    )


def note_of(asked: wire.PostMail) -> OperatorNote:
    return OperatorNote(
        subject=asked.subject,
        body=asked.body_content,
        reply_policy=asked.reply_policy,
        enclosures=_enclosures(asked.attachments),
        notify_block=_block(asked.notify_block),
        notify_auth=_auth(asked.notify_auth),
    )


def answer_of(asked: wire.ReplyMail) -> ReplyDraft:
    return ReplyDraft(
        message_ref=asked.message_ref,
        body=asked.body_content,
        enclosures=_enclosures(asked.attachments),
        notify_block=_block(asked.notify_block),
        notify_auth=_auth(asked.notify_auth),
    )


def flags_of(asked: wire.MarkMail) -> Flags:
    return Flags(read=asked.read, answered=asked.answered, archived=asked.archived)


def _enclosures(asked: list[wire.AttachmentRequest]) -> tuple[OutgoingAttachment, ...]:
    return tuple(OutgoingAttachment(path=Path(one.path), label=one.label) for one in asked)


def _block(asked: wire.NotifyBlock | None) -> NotifyBlock | None:
    return None if asked is None else NotifyBlock(text=asked.text, placement=asked.placement)


def _auth(asked: wire.NotifyAuth | None) -> NotifyAuth | None:
    if asked is None:
        return None
    return NotifyAuth(scheme=asked.scheme, token=asked.token, iss=asked.iss, iat=asked.iat, exp=asked.exp)

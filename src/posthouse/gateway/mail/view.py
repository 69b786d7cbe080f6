"""Mail as plain data in the shape of the contract, nulls included. Pure."""

from dataclasses import asdict
from typing import Any

from posthouse.mailbox import Attachment, Message, Party


def message(one: Message, *, with_body: bool) -> dict[str, Any]:
    """One message; *with_body* includes the text."""
    return {
        "message_ref": one.message_ref,
        "thread_ref": one.thread_ref,
        "created_at_utc": one.created_at_utc,
        "subject": one.subject,
        "read": one.read,
        "answered": one.answered,
        "archived": one.archived,
        "box": one.box,
        "unread": one.unread,
        "body_preview": one.body_preview,
        "body_text": one.body_text if with_body else None,
        "sender": _party(one.sender),
        "to": [_party(party) for party in one.to],
        "cc": [_party(party) for party in one.cc],
        "reply_to": [_party(party) for party in one.reply_to],
        "attachments": [attachment(file) for file in one.attachments],
        "notify_block": None if one.notify_block is None else asdict(one.notify_block),
        "notify_auth": None if one.notify_auth is None else asdict(one.notify_auth),
    }


def attachment(one: Attachment) -> dict[str, Any]:
    return asdict(one)


def is_message(ref: str) -> bool:
    """Whether *ref* may name a message; threads of a JMAP server have a prefix."""
    return not ref.startswith("stalwart-thread:")


def _party(one: Party) -> dict[str, Any]:
    return asdict(one)

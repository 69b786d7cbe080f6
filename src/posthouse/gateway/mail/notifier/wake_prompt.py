"""The prompt that wakes an agent for its mail. Pure.

Senders control subjects and notices, so both are quoted and bounded.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template

from posthouse.gateway.mail.notifier.notices import Notices
from posthouse.mailbox import Message
from posthouse.queue import Settings

#: Messages listed in a prompt; the rest is only counted.
MAX_LISTED = 500
_MAX_SUBJECT = 200
_MODES = {
    "any_inbox": "Announced: everything in the inbox, read or not.",
    "unread_only": "Announced: what is unread.",
}


def compose(
    messages: Sequence[Message], settings: Settings, notices: Notices, *, address: str, base_url: str | None
) -> str:
    """Compose the prompt about *messages* (oldest first)."""
    listed = [_line(message) for message in messages[:MAX_LISTED]]
    if len(messages) > MAX_LISTED:
        listed.append(f"… and {len(messages) - MAX_LISTED} newer ones: list the inbox to see them.")
    core = _template().substitute(
        count=f"{len(messages)} {'message' if len(messages) == 1 else 'messages'}",
        address=address,
        messages="\n".join(listed),
        access=_access(base_url),
        mode=_MODES[settings.mode],
    )
    parts = (notices.before, core.strip(), settings.appendix_text.strip(), notices.after)
    return "\n\n".join(part for part in parts if part)


def _line(message: Message) -> str:
    sender = message.sender
    name = "" if sender.display_name is None else f" ({_quoted(sender.display_name)})"
    thread = "" if message.thread_ref is None else f"\n  thread_ref: {message.thread_ref}"
    return (
        f"- message_ref: {message.message_ref}{thread}\n"
        f"  from: {sender.address}{name}\n"
        f"  subject: {_quoted(message.subject)}\n"
        f"  created_at_utc: {message.created_at_utc}"
    )


def _quoted(text: str) -> str:
    """*text* as one bounded line in JSON quotes."""
    collapsed = " ".join(text.split())
    short = collapsed if len(collapsed) <= _MAX_SUBJECT else f"{collapsed[: _MAX_SUBJECT - 1]}…"
    return json.dumps(short, ensure_ascii=False)


def _access(base_url: str | None) -> str:
    if base_url is None:
        return "Then use `houmao-mgr agents mail check|read|send|reply|mark-read|archive`.\n"
    return (
        f"Its gateway answers at {base_url}: POST /v1/mail/list, peek, read, send, reply, mark, move and\n"
        "archive there, with the message_ref values above. `houmao-mgr agents mail …` does the same.\n"
    )


@cache
def _template() -> Template:
    """Read once and cached."""
    return Template((Path(__file__).parent / "wake_prompt.txt").read_text(encoding="utf-8"))

"""Senders' notices in a wake-up prompt: which are shown, and their audit entries. Pure."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from posthouse.mailbox import Message, NotifyAuth, NotifyBlock
from posthouse.queue import Settings

AuthOutcome = Literal["skipped", "passed", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """The notices of one prompt."""

    before: str
    after: str
    #: One audit entry for each message that has a notice, oldest first.
    entries: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthResult:
    """Result of verifying a sender's token. The detail never contains the token."""

    outcome: AuthOutcome
    detail: str | None = None


def render(messages: Sequence[Message], settings: Settings) -> Notices:
    """Render the notices of *messages* (oldest first) within the limits of *settings*."""
    slots: dict[str, list[str]] = {"prepend": [], "append": []}
    entries: list[dict[str, Any]] = []
    room = settings.notify_block_total_chars
    left_out = 0
    for message in messages:
        if (block := message.notify_block) is None:
            continue
        result = _authenticate(message.notify_auth, settings)
        text, was_cut = _cut(block, settings.notify_block_per_message_chars)
        shown = f"Notice from {message.sender.address}:\n{_quoted(text)}"
        is_shown = _may_show(result, settings)
        if is_shown and len(shown) > room:
            is_shown, result = False, AuthResult(outcome=result.outcome, detail="aggregate cap reached")
            left_out += 1
        if is_shown:
            slots[block.placement].append(shown)
            room -= len(shown)
        entries.append(_entry(message, result, text, is_shown=is_shown, was_cut=was_cut))
    if left_out:
        summary = f"+ {left_out} more sender notice(s) — open inbox to read"
        slots["append" if slots["append"] else "prepend"].append(summary)
    before, after = ("\n\n".join(slots[placement]) for placement in ("prepend", "append"))
    return Notices(before=before, after=after, entries=tuple(entries))


def verify(auth: NotifyAuth | None, settings: Settings) -> AuthResult:
    """Verify *auth* with the configured verifier."""
    if settings.notify_block_auth_verifier == "none":
        return AuthResult(outcome="passed")
    if auth is None or auth.token is None:
        return AuthResult(outcome="failed", detail="the sender gave no token")
    given = auth.token.encode()
    # Every token is compared, so that timing leaks nothing about near matches.
    known = [hmac.compare_digest(given, token.encode()) for token in settings.notify_block_shared_tokens]
    if any(known):
        return AuthResult(outcome="passed")
    return AuthResult(outcome="failed", detail="the sender's token is not in the allowlist")


def _authenticate(auth: NotifyAuth | None, settings: Settings) -> AuthResult:
    if settings.notify_block_render == "disabled":
        return AuthResult(outcome="skipped", detail="render disabled")
    return verify(auth, settings)


def _may_show(result: AuthResult, settings: Settings) -> bool:
    if result.outcome == "skipped":
        return False
    return result.outcome == "passed" or settings.notify_block_auth_mode == "permissive-log"


def _cut(block: NotifyBlock, most: int) -> tuple[str, bool]:
    if len(block.text) <= most:
        return block.text, False
    return f"{block.text[: most - 1]}…", True


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _entry(
    message: Message, result: AuthResult, text: str, *, is_shown: bool, was_cut: bool
) -> dict[str, Any]:
    auth = message.notify_auth
    return {
        "message_ref": message.message_ref,
        "rendered": is_shown,
        "auth_scheme": "none" if auth is None else auth.scheme,
        "auth_outcome": result.outcome,
        "auth_detail": result.detail,
        "block_chars": len(text),
        "block_truncated": was_cut,
    }

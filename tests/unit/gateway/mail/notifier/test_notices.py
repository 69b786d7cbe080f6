"""Which senders' notices a wake-up prompt shows."""

from dataclasses import replace

import pytest

from posthouse.gateway.mail.notifier import notices
from posthouse.mailbox import Message, NotifyAuth, NotifyBlock, Party
from posthouse.queue import Settings


def _message(number: int, text: str | None, *, token: str | None = None, before: bool = False) -> Message:
    return Message(
        message_ref=f"m{number}",
        thread_ref=None,
        created_at_utc="2026-03-19T08:00:00Z",
        subject="s",
        sender=Party(address="a@b"),
        notify_block=None
        if text is None
        else NotifyBlock(text=text, placement="prepend" if before else "append"),
        notify_auth=None if token is None else NotifyAuth(token=token),
    )


def _entry(number: int, *, rendered: bool, outcome: str, detail: str | None, chars: int) -> dict[str, object]:
    return {
        "message_ref": f"m{number}",
        "rendered": rendered,
        "auth_scheme": "none",
        "auth_outcome": outcome,
        "auth_detail": detail,
        "block_chars": chars,
        "block_truncated": False,
    }


def test_each_notice_stands_where_its_sender_wants_it() -> None:
    """Notices are attributed and quoted, in their slot, oldest first; mail without one has no entry."""
    rendered = notices.render(
        [_message(1, "one\ntwo"), _message(2, None), _message(3, "three", before=True), _message(4, "four")],
        Settings(),
    )

    assert rendered.before == "Notice from a@b:\n> three"
    assert rendered.after == "Notice from a@b:\n> one\n> two\n\nNotice from a@b:\n> four"
    assert rendered.entries == (
        _entry(1, rendered=True, outcome="passed", detail=None, chars=7),
        _entry(3, rendered=True, outcome="passed", detail=None, chars=5),
        _entry(4, rendered=True, outcome="passed", detail=None, chars=4),
    )


def test_disabled_rendering_shows_nothing_and_says_so() -> None:
    """With rendering disabled no notice is shown, and the verifier is not asked."""
    rendered = notices.render([_message(1, "one")], Settings(notify_block_render="disabled"))

    assert (rendered.before, rendered.after) == ("", "")
    assert rendered.entries == (
        _entry(1, rendered=False, outcome="skipped", detail="render disabled", chars=3),
    )


@pytest.mark.parametrize(
    ("mode", "tokens", "token", "shown", "outcome", "detail"),
    [
        ("required", ("t",), "t", True, "passed", None),
        ("required", ("t",), "wrong", False, "failed", "the sender's token is not in the allowlist"),
        ("required", ("t",), None, False, "failed", "the sender gave no token"),
        ("required", (), "t", False, "failed", "the sender's token is not in the allowlist"),
        ("permissive-log", ("t",), "wrong", True, "failed", "the sender's token is not in the allowlist"),
    ],
)
def test_shared_tokens(
    mode: str, tokens: tuple[str, ...], token: str | None, shown: bool, outcome: str, detail: str | None
) -> None:
    """A required token that is missing or wrong hides the notice; permissive only records it."""
    settings = replace(
        Settings(notify_block_auth_verifier="shared-token", notify_block_shared_tokens=tokens),
        notify_block_auth_mode="required" if mode == "required" else "permissive-log",
    )

    rendered = notices.render([_message(1, "one", token=token)], settings)

    assert bool(rendered.after) == shown
    assert rendered.entries == (_entry(1, rendered=shown, outcome=outcome, detail=detail, chars=3),)


def test_a_long_notice_is_cut() -> None:
    """A notice over its own limit loses its end."""
    rendered = notices.render([_message(1, "abcdef")], Settings(notify_block_per_message_chars=4))

    assert rendered.after == "Notice from a@b:\n> abc…"
    assert [(entry["block_chars"], entry["block_truncated"]) for entry in rendered.entries] == [(4, True)]


def test_the_limit_of_all_leaves_out_what_does_not_fit() -> None:
    """What does not fit any more is counted in one line; a later, shorter one may still fit."""
    one = len("Notice from a@b:\n> short")
    rendered = notices.render(
        [_message(1, "short"), _message(2, "x" * 100), _message(3, "short")],
        Settings(notify_block_total_chars=2 * one),
    )

    assert rendered.after == (
        "Notice from a@b:\n> short\n\nNotice from a@b:\n> short\n\n"
        "+ 1 more sender notice(s) — open inbox to read"
    )
    assert rendered.entries[1] == _entry(
        2, rendered=False, outcome="passed", detail="aggregate cap reached", chars=100
    )


def test_the_count_of_left_out_notices_goes_before_when_nothing_stands_behind() -> None:
    """Without a notice in the append slot the summary stands in the prepend slot."""
    rendered = notices.render([_message(1, "one")], Settings(notify_block_total_chars=5))

    assert (rendered.before, rendered.after) == ("+ 1 more sender notice(s) — open inbox to read", "")

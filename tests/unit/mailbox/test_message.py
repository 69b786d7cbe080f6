"""Previews."""

from posthouse.mailbox.message import Message, Party, preview


def test_a_preview_is_one_line_of_at_most_240_characters() -> None:
    """Whitespace collapses, and what is longer ends in three dots."""
    assert preview("  one\n\n two\t three ") == "one two three"
    assert preview("x" * 240) == "x" * 240
    assert preview("x" * 241) == "x" * 237 + "..."


def test_unread_is_the_contrary_of_read_or_unknown() -> None:
    """A transport that does not know whether a message was read does not say that it is unread."""
    message = Message(
        message_ref="r", thread_ref=None, created_at_utc="t", subject="s", sender=Party(address="a@b")
    )

    assert message.unread is None

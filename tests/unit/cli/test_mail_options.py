"""What mail commands say to a slip."""

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

from posthouse.cli import mail_options
from posthouse.cli.error_output import UsageError


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (mail_options.positive, "0", "'0' is no count: give a number from 1 on"),
        (mail_options.positive, "ten", "'ten' is no count: give a number from 1 on"),
        (mail_options.moment, "yesterday", "'yesterday' is no moment: write it as 2026-03-19T08:00:00Z"),
    ],
)
def test_a_wrong_value_is_answered_with_a_right_one(
    read: Callable[[str], object], text: str, words: str
) -> None:
    """The message says what is expected, not the name of a type."""
    with pytest.raises(argparse.ArgumentTypeError) as refused:
        read(text)

    assert str(refused.value) == words


def test_a_file_that_is_no_text_is_to_be_attached(tmp_path: Path) -> None:
    """A body is text; what can't be read says why."""
    (tmp_path / "picture").write_bytes(b"\xff\xfe")
    told = []
    for name in ("picture", "nothing"):
        with pytest.raises(UsageError) as refused:
            mail_options._text_of(tmp_path / name)
        told.append(str(refused.value).removeprefix(f"{tmp_path}/"))

    assert told == [
        "picture is no text in UTF-8; attach it instead",
        "nothing can't be read: No such file or directory",
    ]

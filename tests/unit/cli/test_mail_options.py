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
        (mail_options.positive, "0", "invalid count '0': must be 1 or more"),
        (mail_options.positive, "ten", "invalid count 'ten': must be 1 or more"),
        (
            mail_options.timestamp,
            "yesterday",
            "invalid time 'yesterday': use a form like 2026-03-19T08:00:00Z",
        ),
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
            mail_options._read_text(tmp_path / name)
        told.append(str(refused.value).removeprefix(f"{tmp_path}/"))

    assert told == [
        "picture is not UTF-8 text; attach it instead",
        "nothing can't be read: No such file or directory",
    ]

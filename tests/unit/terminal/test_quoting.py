"""Text that stays one argument."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.errors import InvalidInput
from posthouse.terminal import quoting

_LINE = re.compile(
    rb'"(?:[A-Za-z0-9 _./:=@%,+\-\x80-\xff]|\\[0-3][0-7]{2})*"(?: "(?:[^"\\\n]|\\[0-3][0-7]{2})*")*\n'
)


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")), min_size=1))
def test_a_line_holds_no_byte_that_means_something(command: list[str]) -> None:
    """Whatever the text, a line is quoted words of harmless bytes and octal escapes, and one newline."""
    assert _LINE.fullmatch(quoting.line(command))


@pytest.mark.parametrize("text", ["a\0b", "\ud800"], ids=["NUL", "half a surrogate pair"])
def test_what_tmux_cannot_carry_is_refused(text: str) -> None:
    """NUL and broken Unicode are the caller's mistake."""
    with pytest.raises(InvalidInput, match="the text holds"):
        quoting.line(["set-buffer", text])


def test_a_file_name_that_is_not_utf8_keeps_its_bytes() -> None:
    """Paths come from the kernel with whatever bytes they have."""
    assert quoting.line([b"/srv/\xff".decode(errors="surrogateescape")]) == b'"/srv/\xff"\n'


def test_only_the_last_semicolon_of_an_argument_is_escaped() -> None:
    """In argv tmux ends a command at a trailing `;` and nowhere else."""
    assert [quoting.argument(text) for text in ("a;b", "a;", ";")] == [b"a;b", b"a\\;", b"\\;"]


def test_a_format_in_a_name_is_only_text() -> None:
    """`#` is doubled where tmux would expand it."""
    assert quoting.verbatim("a#{pid}#(id)") == "a##{pid}##(id)"

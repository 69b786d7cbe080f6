"""Text as it may be pasted."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.errors import InvalidInput
from posthouse.terminal import paste


@given(st.text(min_size=1).filter(str.strip))
def test_nothing_in_a_pasted_text_is_a_key(text: str) -> None:
    """Of the control characters only tabs and newlines are left."""
    assert {char for char in paste.pasteable(text) if unicodedata.category(char) == "Cc"} <= {"\t", "\n"}


def test_a_text_that_would_end_the_paste_is_made_visible() -> None:
    """An Escape is shown as its picture; line ends of other systems become newlines."""
    assert (
        paste.pasteable("a\x1b[201~\x03b\r\nc\rd\te\x7f\x9b")
        == "a␛[201~␃b\nc\nd\te␡\N{REPLACEMENT CHARACTER}"
    )


def test_a_blank_prompt_is_refused() -> None:
    """There is nothing to submit in it."""
    with pytest.raises(InvalidInput):
        paste.pasteable(" \n\t")


def test_a_prompt_has_a_limit() -> None:
    """One megabyte is still taken, one byte more is not."""
    assert paste.pasteable("é" * (paste.MAX_BYTES // 2))

    with pytest.raises(InvalidInput, match="longer than 1 MB"):
        paste.pasteable("é" * (paste.MAX_BYTES // 2) + "x")


@pytest.mark.parametrize(
    ("composer", "text", "is_shown"),
    [
        pytest.param("fix the bug", "fix the bug", True, id="as it is"),
        pytest.param("fix the\n  bug", "fix the bug", True, id="wrapped"),
        pytest.param("é", "e\u0301", True, id="normalised"),
        pytest.param("x" * 24 + "…", "x" * 24 + "y" * 100, True, id="clipped at the end"),
        pytest.param("…" + "y" * 100, "x" * 100 + "y" * 100, True, id="clipped at the beginning"),
        pytest.param("[Pasted text #1 +40 lines]", "line\n" * 41, True, id="a stand-in"),
        pytest.param("", "fix the bug", False, id="still empty"),
        pytest.param("fix", "fix the bug", False, id="not all of it yet"),
        pytest.param("something else", "fix the bug", False, id="another text"),
    ],
)
def test_a_composer_shows_a_text_by_either_end(composer: str, text: str, is_shown: bool) -> None:
    """Wrapping, normalising, clipping and stand-ins do not hide it."""
    assert paste.shows(composer, text) is is_shown

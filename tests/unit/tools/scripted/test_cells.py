"""Text in terminal cells."""

from hypothesis import given
from hypothesis import strategies as st

from posthouse.tools.scripted import cells


def test_width_counts_cells_not_characters() -> None:
    """Wide characters take two cells, combining ones none."""
    assert [cells.width(text) for text in ("abc", "你好", "e\u0301", "❯\u00a0")] == [3, 4, 1, 2]


def test_words_break_at_spaces() -> None:
    """A word is broken only when it is wider than the screen."""
    assert cells.wrap_words("one two three", 7) == ["one two", "three"]
    assert cells.wrap_words("abcdefgh ij", 4) == ["abcd", "efgh", "ij"]
    assert cells.wrap_words("a\n\n  b", 10) == ["a", "", "  b"]


@given(st.text(alphabet="ab 你\n", max_size=60), st.integers(2, 12))
def test_no_row_is_wider_than_the_screen_and_nothing_is_lost(text: str, columns: int) -> None:
    """Wrapping only breaks lines."""
    rows = cells.wrap(text, columns)

    assert all(cells.width(row) <= columns for row in rows)
    assert "".join(rows) == text.replace("\n", "")
    words = cells.wrap_words(text, columns)
    assert all(cells.width(row) <= columns for row in words)
    assert "".join(words).replace(" ", "") == text.replace("\n", "").replace(" ", "")

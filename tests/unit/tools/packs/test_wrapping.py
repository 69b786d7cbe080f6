"""Lines that a narrow window broke."""

import pytest

from posthouse.tools.packs import wrapping


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param(["one line"], "one line", id="one row"),
        pytest.param(
            ["one line", "and a second"], "one line\nand a second", id="two lines with room to spare"
        ),
        pytest.param(
            ["these words fill it", "up to the edge"], "these words fill it up to the edge", id="moved word"
        ),
        pytest.param(["x" * 20, "xxx"], "x" * 23, id="a word that is longer than a row"),
        pytest.param(["first", "", "third"], "first\n\nthird", id="an empty line"),
        pytest.param(["日本語日本語日本", "語です"], "日本語日本語日本語です", id="wide characters"),
        pytest.param(
            ["these words fill it", "  indented"], "these words fill it\n  indented", id="an indented line"
        ),
    ],
)
def test_rows_are_put_together_where_the_window_broke_them(rows: list[str], text: str) -> None:
    """And stay apart where a person ended a line."""
    assert wrapping.join_wrapped(rows, 20) == text

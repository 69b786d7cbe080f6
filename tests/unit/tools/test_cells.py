"""A row's characters and their styles."""

import pytest

from posthouse.terminal.screen import plain
from posthouse.tools.cells import Cell, cells


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param("ab", [Cell("a"), Cell("b")], id="plain"),
        pytest.param("\x1b[1;2ma", [Cell("a", is_bold=True, is_dim=True)], id="two at once"),
        pytest.param("\x1b[1m\x1b[22ma", [Cell("a")], id="neither bold nor dim"),
        pytest.param("\x1b[7ma\x1b[27mb", [Cell("a", is_reverse=True), Cell("b")], id="reverse and back"),
        pytest.param("\x1b[1ma\x1b[mb", [Cell("a", is_bold=True), Cell("b")], id="an empty reset"),
        pytest.param("\x1b[38;5;2ma", [Cell("a", colour="38;5;2")], id="a colour's 2 is not dim"),
        pytest.param("\x1b[48;2;1;7;2ma", [Cell("a")], id="nor a background's"),
        pytest.param("\x1b[31ma\x1b[39mb", [Cell("a", colour="31"), Cell("b")], id="a basic colour and back"),
        pytest.param("\x1b[0;1ma", [Cell("a", is_bold=True)], id="a reset with more behind it"),
        pytest.param("\x1b]8;;http://x\x1b\\a\x1b]8;;\x1b\\", [Cell("a")], id="a link"),
    ],
)
def test_each_character_has_the_style_in_force(row: str, expected: list[Cell]) -> None:
    """What a terminal would show."""
    assert cells(row) == expected
    assert "".join(cell.character for cell in cells(row)) == plain(row)

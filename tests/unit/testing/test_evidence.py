"""Tables that benches write into a page."""

from pathlib import Path

import pytest

from posthouse.testing import evidence


def test_a_table_is_replaced_between_its_marks_only(tmp_path: Path) -> None:
    """What stands around the marks, and other tables, stay as they are; a second call replaces the first."""
    page = tmp_path / "page.md"
    other = "<!-- b: begin -->\n\nkept\n\n<!-- b: end -->\n"
    page.write_text(f"# head\n<!-- a: begin -->\n<!-- a: end -->\ntext\n{other}")

    evidence.replace_table(page, "a", "| 1 |")
    evidence.replace_table(page, "a", "| 2 |")

    table = "<!-- a: begin -->\n\n| 2 |\n\n<!-- a: end -->"
    assert page.read_text() == f"# head\n{table}\ntext\n{other}"


def test_a_page_without_the_marks_is_refused_and_kept(tmp_path: Path) -> None:
    """A table that has no place is not appended somewhere."""
    page = tmp_path / "page.md"
    page.write_text("# head\n<!-- a: begin -->\n")

    with pytest.raises(ValueError, match="<!-- a: end -->"):
        evidence.replace_table(page, "a", "| 1 |")

    assert page.read_text() == "# head\n<!-- a: begin -->\n"

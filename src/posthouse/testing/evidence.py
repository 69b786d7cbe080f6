"""Tables in docs/evidence.md that a bench writes, each between two marks."""

from pathlib import Path


def replace_table(page: Path, name: str, table: str) -> None:
    """Put *table* between the marks of *name* on *page*.

    Raises:
        ValueError: The page has no such marks.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = page.read_text(encoding="utf-8")
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"{page} has no {begin} … {end}")
    page.write_text(f"{before}{begin}\n\n{table}\n\n{end}{after}", encoding="utf-8")

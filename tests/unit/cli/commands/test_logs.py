"""Reading a log that grows and is rotated."""

from pathlib import Path

import pytest

from posthouse.cli.commands import logs


def test_only_whole_lines_are_shown_and_each_once(tmp_path: Path) -> None:
    """A line that is being written waits for its end."""
    path = tmp_path / "events.jsonl"
    with logs.FollowedFile(path) as growing:
        assert list(growing.lines()) == []
        path.write_text("one\ntw")
        assert list(growing.lines()) == ["one"]
        with path.open("a") as stream:
            stream.write("o\nthree\n")
        assert list(growing.lines()) == ["two", "three"]
        assert list(growing.lines()) == []


def test_a_rotated_file_is_read_to_its_end_and_then_the_new_one(tmp_path: Path) -> None:
    """Nothing is lost between the old file and the one that takes its name."""
    path = tmp_path / "events.jsonl"
    path.write_text("one\n")
    with logs.FollowedFile(path) as growing:
        list(growing.lines())
        with path.open("a") as stream:
            stream.write("two\n")
        path.rename(tmp_path / "events.jsonl.1")
        path.write_text("three\n")

        assert list(growing.lines()) == ["two", "three"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            '{"accepted_at_utc": "2026-03-13T10:00:00+00:00", "kind": "accepted", "request_id": "r1"}',
            "2026-03-13 10:00:00  accepted  request_id=r1",
        ),
        ('{"error_detail": null, "kind": "completed", "request_id": "r1"}', "completed  request_id=r1"),
        (
            '{"kind": "completed", "request_id": "r1", "result_json": '
            '{"completed_at_utc": "2026-03-13T10:00:01+00:00", "request_kind": "interrupt"}}',
            "2026-03-13 10:00:01  completed  request_id=r1 request_kind=interrupt",
        ),
        ("not json", "not json"),
        ("[1]", "[1]"),
    ],
)
def test_an_event_is_told_in_one_line(line: str, told: str) -> None:
    """Time first where the event has one, then what, then the rest; a line that is no event stays."""
    assert logs.format_line(line) == told

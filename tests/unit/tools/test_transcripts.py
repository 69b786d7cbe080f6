"""Records of any CLI's transcript."""

from pathlib import Path

from posthouse.tools import transcripts
from posthouse.tools.tool import Place
from posthouse.tools.transcripts import Record, Tally


def test_the_whole_records_at_the_end_are_read_with_their_places(tmp_path: Path) -> None:
    """Not the one that is cut off in front, the one that is being written, nor what is no record."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": "far back"}\n{"n": "ü"}\nno JSON\n[]\n{"n": 2}\n{"n": 3}')

    read = list(transcripts.read(path, max_bytes=42))

    assert read == [
        Record(fields={"n": "ü"}, place=Place(file="a.jsonl", offset=18)),
        Record(fields={"n": 2}, place=Place(file="a.jsonl", offset=41)),
    ]


def test_only_wanted_records_are_read(tmp_path: Path) -> None:
    """By what stands near their beginning."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"type": "event"}\n{"type": "other"}\n')

    read = transcripts.read(path, max_bytes=1000, containing=b'"event"')

    assert [record.fields for record in read] == [{"type": "event"}]


def test_of_a_file_that_is_gone_nothing_is_read(tmp_path: Path) -> None:
    """CLIs remove conversations that came to nothing."""
    assert list(transcripts.read(tmp_path / "gone", max_bytes=10)) == []


def test_what_is_no_count_is_not_counted() -> None:
    """Transcripts are others' files: a newer CLI may tell something else there."""
    tally = Tally()
    tally.note("a", {"in": "many", "out": 2, "new": 5}, {"in": "input", "out": "output"})
    tally.note("b", "nothing", {"in": "input"})

    assert tally.total() == {"output": 2}

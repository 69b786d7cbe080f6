"""Records of any CLI's transcript."""

import os
from pathlib import Path

import pytest

from posthouse import tools
from posthouse.tools import transcripts
from posthouse.tools.tool import TranscriptPosition
from posthouse.tools.transcripts import TokenCounter, TranscriptRecord


def test_the_whole_records_at_the_end_are_read_with_their_places(tmp_path: Path) -> None:
    """Not the one that is cut off in front, the one that is being written, nor what is no record."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": "far back"}\n{"n": "ü"}\nno JSON\n[]\n{"n": 2}\n{"n": 3}')

    read = list(transcripts.read(path, max_bytes=42))

    assert read == [
        TranscriptRecord(fields={"n": "ü"}, position=TranscriptPosition(file="a.jsonl", offset=18)),
        TranscriptRecord(fields={"n": 2}, position=TranscriptPosition(file="a.jsonl", offset=41)),
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
    tally = TokenCounter()
    tally.add("a", {"in": "many", "out": 2, "new": 5}, {"in": "input", "out": "output"})
    tally.add("b", "nothing", {"in": "input"})

    assert tally.total() == {"output": 2}


def test_a_line_of_endless_nesting_costs_that_line_only(tmp_path: Path) -> None:
    """A tool's result can be such a line."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": 1}\n{"n": ' + "[" * 100_000 + '\n{"n": 2}\n')

    assert [record.fields["n"] for record in transcripts.read(path, max_bytes=1 << 20)] == [1, 2]


def test_a_named_pipe_or_a_link_is_no_transcript(tmp_path: Path) -> None:
    """Nothing is read of it, and nothing waits for it."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "real").write_text("{}\n")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real")

    for name in ("pipe.jsonl", "link.jsonl"):
        assert list(transcripts.read(tmp_path / name, max_bytes=100)) == []


@pytest.mark.parametrize(
    ("tool", "place"),
    [
        ("claude", "projects/{folder}/a.jsonl"),
        ("codex", "sessions/2026/01/01/rollout-1.jsonl"),
        ("gemini", ".gemini/tmp/slug/chats/session-1.jsonl"),
    ],
)
def test_no_cli_waits_for_a_named_pipe_in_its_home(tool: str, place: str, tmp_path: Path) -> None:
    """Where its transcripts are, an agent can make one."""
    work = tmp_path / "work"
    work.mkdir()
    home = tmp_path / "home"
    pipe = home / place.format(folder=str(work).replace("/", "-").replace("_", "-"))
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    if tool == "gemini":
        (home / ".gemini/projects.json").write_text(f'{{"projects": {{"{work}": "slug"}}}}')

    assert list(tools.load(tool).exchanges(home, work)) == []

"""The agent's own conversations on disk."""

import os
from pathlib import Path

from posthouse.tools.scripted.transcript import Transcript, project_folder


def _new(home: Path, where: Path, *, role: str = "") -> Transcript:
    return Transcript.new(home, where, role=role, is_kept=True)


def test_a_conversation_remembers_its_prompts_and_its_role(tmp_path: Path) -> None:
    """What is appended is found again by the id."""
    transcript = _new(tmp_path, tmp_path, role="terse")
    transcript.append("prompt", text="one")
    transcript.append("prompt", text="two")

    found = Transcript.find(tmp_path, tmp_path, transcript.session_id)
    assert found is not None
    assert (found.prompts(), found.role()) == (("one", "two"), "terse")


def test_the_latest_is_the_one_written_to_last(tmp_path: Path) -> None:
    """Continuing means the conversation that went on most recently."""
    first, second = _new(tmp_path, tmp_path), _new(tmp_path, tmp_path)
    os.utime(first.path, ns=(0, 2_000_000_000))
    os.utime(second.path, ns=(0, 1_000_000_000))

    latest = Transcript.latest(tmp_path, tmp_path)
    assert latest is not None
    assert latest.session_id == first.session_id


def test_conversations_of_another_folder_are_not_found(tmp_path: Path) -> None:
    """Even when the folders' names differ only in what a file name can't hold."""
    one, other = tmp_path / "a-b", tmp_path / "a" / "b"
    transcript = _new(tmp_path, one)

    assert project_folder(tmp_path, one) != project_folder(tmp_path, other)
    assert Transcript.find(tmp_path, other, transcript.session_id) is None
    assert Transcript.latest(tmp_path, other) is None


def test_an_id_is_never_a_path(tmp_path: Path) -> None:
    """A resume id can't reach outside its folder."""
    _new(tmp_path, tmp_path)
    (tmp_path / "secret.jsonl").write_text("{}\n")

    assert Transcript.find(tmp_path, tmp_path, "../../secret") is None


def test_a_line_that_is_still_being_written_is_left_out(tmp_path: Path) -> None:
    """A reader never trips over half a record."""
    transcript = _new(tmp_path, tmp_path)
    transcript.append("prompt", text="one")
    with transcript.path.open("a") as stream:
        stream.write('{"type": "pro')

    assert transcript.prompts() == ("one",)


def test_only_the_end_of_a_huge_conversation_is_read(tmp_path: Path) -> None:
    """Reading is bounded, whatever the agent wrote."""
    transcript = _new(tmp_path, tmp_path)
    transcript.append("prompt", text="x" * 5_000_000)
    transcript.append("prompt", text="last")

    assert transcript.prompts() == ("last",)


def test_an_agent_without_a_transcript_leaves_none(tmp_path: Path) -> None:
    """What is not kept is neither written nor found."""
    transcript = Transcript.new(tmp_path, tmp_path, role="", is_kept=False)
    transcript.append("prompt", text="one")

    assert transcript.prompts() == ()
    assert Transcript.latest(tmp_path, tmp_path) is None

import json
import os
import stat
from pathlib import Path

import pytest

from posthouse.support import files


def test_a_replaced_file_is_laid_out_as_the_contracts_say(tmp_path: Path) -> None:
    """JSON is indented by two, its keys sorted, and it ends with a newline."""
    path = tmp_path / "state.json"

    files.write_json(path, {"b": [1], "a": {"z": None, "y": "é"}}, durable=True)

    assert path.read_text() == '{\n  "a": {\n    "y": "é",\n    "z": null\n  },\n  "b": [\n    1\n  ]\n}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk is full, the old content stays and the temporary file is gone."""
    path = tmp_path / "state.json"
    files.write_json(path, {"old": True}, durable=False)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)  # a full disk can't be had in a test without root
    with pytest.raises(OSError, match="No space left"):
        files.write_json(path, {"new": True}, durable=True)

    assert json.loads(path.read_bytes()) == {"old": True}
    assert list(tmp_path.iterdir()) == [path]


def test_lines_are_appended_whole(tmp_path: Path) -> None:
    """Each append adds exactly one line of sorted JSON."""
    path = tmp_path / "events.jsonl"

    files.append_line(path, {"kind": "b", "at": 1})
    files.append_line(path, {"kind": "a\nb"})

    assert path.read_text() == '{"at": 1, "kind": "b"}\n{"kind": "a\\nb"}\n'


def test_folders_are_private(tmp_path: Path) -> None:
    """Every folder that is made on the way is the owner's alone."""
    deep = files.private_folder(tmp_path / "one" / "two" / "three")

    made = (deep, deep.parent, deep.parent.parent)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in made] == [0o700, 0o700, 0o700]


def test_sizes_are_summed_over_the_tree(tmp_path: Path) -> None:
    """The size of a folder is the bytes of all files below it."""
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b").write_bytes(b"4567")

    assert files.size_of(tmp_path) == 7

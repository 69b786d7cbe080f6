"""What repositories track, as git itself says it."""

import subprocess
from pathlib import Path

import pytest

from posthouse.errors import Denied
from posthouse.sessions import git_index

_NAMES = ("a", "dir/b c", "dir/sub/" + "long" * 40, "dir/sub/ünï", "dir2/x", "dir/sub/deeper/x", "z")


def _git(folder: Path, *words: str) -> bytes:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True).stdout


def _fill(folder: Path) -> None:
    for name in _NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def _listed(folder: Path) -> list[Path]:
    """What git says it tracks below *folder*."""
    return sorted(folder / name.decode() for name in _git(folder, "ls-files", "-z").split(b"\0") if name)


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("objects", ["sha1", "sha256"])
def test_it_is_what_git_lists(tmp_path: Path, version: str, objects: str) -> None:
    """In each form of the index, for the whole working tree and for a folder of it."""
    _git(tmp_path, "init", "-q", f"--object-format={objects}")
    _fill(tmp_path)
    _git(tmp_path, "add", "-A")
    (tmp_path / "intended").write_text("x")
    _git(tmp_path, "add", "--intent-to-add", "intended")  # an entry that needs version 3
    _git(tmp_path, "update-index", "--index-version", version)

    for folder in (tmp_path, tmp_path / "dir"):
        assert sorted(git_index.tracked_below(folder)) == _listed(folder)
    assert git_index.tracked_below(tmp_path / "other") == []


def test_a_split_index_is_read_whole(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    _fill(tmp_path)
    _git(tmp_path, "add", "-A")
    _git(tmp_path, "update-index", "--split-index")
    (tmp_path / "dir" / "later").write_text("x")
    _git(tmp_path, "add", "-A")

    assert set(git_index.tracked_below(tmp_path / "dir")) >= set(_listed(tmp_path / "dir"))


def test_a_further_working_tree_has_an_index_of_its_own(tmp_path: Path) -> None:
    """Its `.git` is a file."""
    main = tmp_path / "main"
    main.mkdir()
    _git(main, "init", "-q")
    _fill(main)
    _git(main, "add", "-A")
    _git(main, "commit", "-q", "-m", "all")
    _git(main, "worktree", "add", "-q", "../other")

    assert sorted(git_index.tracked_below(tmp_path / "other" / "dir")) == _listed(tmp_path / "other" / "dir")


def test_outside_of_repositories_and_before_the_first_add_nothing_is_tracked(tmp_path: Path) -> None:
    assert git_index.tracked_below(tmp_path) == []
    _git(tmp_path, "init", "-q")
    assert git_index.tracked_below(tmp_path) == []


@pytest.mark.parametrize(
    "content", [b"", b"DIRC", b"DIRC\0\0\0\x09\0\0\0\x01dir/", b"DIRC\0\0\0\x02\0\0\0\x09dir/"]
)
def test_an_index_that_is_not_understood_is_said(tmp_path: Path, content: bytes) -> None:
    """Nothing is known of what it tracks, so callers must not take it for empty."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_bytes(content)

    with pytest.raises(Denied, match=r"index is not an index of git that is understood"):
        git_index.tracked_below(tmp_path / "dir")

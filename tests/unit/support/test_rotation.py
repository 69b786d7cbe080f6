"""Files that only grow, up to a limit."""

import os
import stat
from pathlib import Path

import pytest

from posthouse.support.rotation import RotatingFile, parts


def test_a_full_file_becomes_a_numbered_sibling(tmp_path: Path) -> None:
    """The newest part keeps the name, older ones count up, and the oldest goes."""
    path = tmp_path / "log"
    log = RotatingFile(path, max_bytes=10, backups=2)
    for word in ("one\n", "two\n", "three\n", "four\n", "five\n", "six\n"):
        log.write(word.encode())
    log.close()

    assert {part.name: part.read_text() for part in parts(path)} == {
        "log.2": "three\n",
        "log.1": "four\nfive\n",
        "log": "six\n",
    }
    assert [part.name for part in parts(path)] == ["log.2", "log.1", "log"]
    assert {stat.S_IMODE(part.stat().st_mode) for part in parts(path)} == {0o600}


def test_without_backups_only_the_newest_is_kept(tmp_path: Path) -> None:
    """Zero siblings means zero."""
    log = RotatingFile(tmp_path / "log", max_bytes=5, backups=0)
    log.write(b"one\n")
    log.write(b"two\n")
    log.close()

    assert {part.name: part.read_text() for part in tmp_path.iterdir()} == {"log": "two\n"}


def test_a_line_larger_than_the_limit_is_written_whole(tmp_path: Path) -> None:
    """It has a file for itself."""
    path = tmp_path / "log"
    log = RotatingFile(path, max_bytes=5, backups=3)
    for word in ("a\n", "a long line\n", "b\n"):
        log.write(word.encode())
    log.close()

    assert [part.read_text() for part in parts(path)] == ["a\n", "a long line\n", "b\n"]


def test_a_restart_goes_on_where_the_last_one_was(tmp_path: Path) -> None:
    """The size counts from what is there, and a line that broke off is closed first."""
    path = tmp_path / "log"
    path.write_text("whole\nbroken o")
    log = RotatingFile(path, max_bytes=30, backups=3)
    log.write(b"next\n")
    log.write(b"does not fit\n")
    log.close()

    assert [part.read_text() for part in parts(path)] == ["whole\nbroken o\nnext\n", "does not fit\n"]


def test_whoever_shares_the_file_is_told_of_the_new_one(tmp_path: Path) -> None:
    """Both descriptors are open then."""
    path = tmp_path / "log"
    told: list[bool] = []

    def rotated(old: int, new: int) -> None:
        told.append(os.path.samestat(os.fstat(old), (tmp_path / "log.1").stat()))
        told.append(os.path.samestat(os.fstat(new), path.stat()))

    log = RotatingFile(path, max_bytes=4, backups=1, on_rotate=rotated)
    log.write(b"one\n")
    log.write(b"two\n")
    log.close()

    assert told == [True, True]


def test_what_does_not_fit_on_the_disk_is_refused_and_the_next_line_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a line never swallows the one after it."""
    path = tmp_path / "log"
    log = RotatingFile(path, max_bytes=100, backups=1)
    whole = os.write
    # A disk that takes four bytes can't be had in a unit test.
    monkeypatch.setattr(os, "write", lambda descriptor, content: whole(descriptor, content[:4]))
    with pytest.raises(OSError, match="only 4 of 7 bytes"):
        log.write(b"broken\n")
    monkeypatch.undo()
    log.write(b"next\n")
    log.close()

    assert path.read_text() == "brok\nnext\n"

"""The file with a program's variables: what is believed, and what is not."""

import os
from pathlib import Path

import pytest

from posthouse.errors import Conflict, PosthouseError
from posthouse.support import files
from posthouse.terminal import variable_files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one variable, as a launch writes it."""
    files.write_json(tmp_path / "launch-env.json", {"KEY": "s3cret"}, durable=False)
    return tmp_path / "launch-env.json"


def test_the_owners_file_is_read(path: Path) -> None:
    """Every variable comes back as it was written."""
    assert variable_files.read(path) == {"KEY": "s3cret"}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_file_that_is_open_to_others_is_refused(path: Path, mode: int) -> None:
    """The message says what to do and has no value."""
    path.chmod(mode)

    with pytest.raises(Conflict, check=lambda error: error.code == "bad_variables_file") as refused:
        variable_files.read(path)

    assert str(path) in str(refused.value)
    assert "run chmod 600" in str(refused.value) or "run: chmod go-w" in str(refused.value)


@pytest.mark.needs_host("root")
def test_a_file_of_another_user_is_refused(path: Path) -> None:
    """Even root does not start a program with another user's variables."""
    os.chown(path, 1000, 1000)

    with pytest.raises(Conflict, match="belongs to user 1000, not to you"):
        variable_files.read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """An agent is not started without its variables."""
    with pytest.raises(Conflict, match=r"/gone, which has the variables of the program, is missing"):
        variable_files.read(tmp_path / "gone")


def test_a_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    """Only a file of its own is read."""
    (tmp_path / "link").symlink_to(path)

    with pytest.raises(Conflict, match="is a symbolic link"):
        variable_files.read(tmp_path / "link")


def test_a_named_pipe_blocks_no_start(tmp_path: Path) -> None:
    """It is refused at once."""
    os.mkfifo(tmp_path / "pipe", 0o600)

    with pytest.raises(Conflict, match="is a named pipe"):
        variable_files.read(tmp_path / "pipe")


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b'{"KEY": 1}', b'{"KEY": "s3cret"', b'{"A=B": "s3cret"}', b"\xff s3cret", b"[" * 100_000],
    ids=["empty", "list", "number", "torn", "name", "bytes", "deep"],
)
def test_what_holds_no_variables_is_refused_without_its_values(path: Path, content: bytes) -> None:
    """One kind of error family for all of them, and nothing of the content in it."""
    path.write_bytes(content)

    with pytest.raises(PosthouseError) as refused:
        variable_files.read(path)

    assert "s3cret" not in str(refused.value)

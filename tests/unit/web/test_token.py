"""The token of callers from elsewhere."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from posthouse.web import token

NAME = "token"
GOOD = b"0123456789abcdefghijklmnopqrstuv\n"


def test_it_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    """The second call gives the same one; the file is 0600."""
    made = token.load_or_create(tmp_path / NAME)
    path = tmp_path / NAME

    assert token.load_or_create(tmp_path / NAME) == made == path.read_bytes().strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(made) == 43
    assert [entry.name for entry in tmp_path.iterdir()] == [NAME]


def test_two_gateways_have_two(tmp_path: Path) -> None:
    """One token opens one gateway."""
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()

    assert token.load_or_create(folders[0] / NAME) != token.load_or_create(folders[1] / NAME)


def test_one_of_the_owners_own_is_taken(tmp_path: Path) -> None:
    """Who writes the file first, chooses."""
    path = tmp_path / NAME
    path.touch(0o600)
    path.write_bytes(GOOD)

    assert token.load_or_create(tmp_path / NAME) == GOOD.strip()


def _written(content: bytes, mode: int = 0o600) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(content)
        path.chmod(mode)

    return make


def _linked(path: Path) -> None:
    other = path.with_name("other")
    _written(GOOD)(other)
    path.symlink_to(other)


UNFIT = {
    "readable by the group": (_written(GOOD, 0o640), "is not a file of this user alone"),
    "writable by all": (_written(GOOD, 0o602), "is not a file of this user alone"),
    "short": (_written(b"secret\n"), "does not hold a token of 32 characters or more"),
    "empty": (_written(b""), "does not hold a token of 32 characters or more"),
    "endless": (_written(b"a" * 2000), "does not hold a token of 32 characters or more"),
    "two lines": (_written(GOOD * 2), "does not hold a token of 32 characters or more"),
    "a folder": (lambda path: path.mkdir(0o700), "can't be read as a file of its own (Is a directory)"),
    "a pipe": (lambda path: os.mkfifo(path, 0o600), "is not a file of this user alone"),
    "a link": (_linked, "can't be read as a file of its own (Too many levels of symbolic links)"),
    "a broken link": (
        lambda path: path.symlink_to("nowhere"),
        "can't be read as a file of its own (Too many levels of symbolic links)",
    ),
}


@pytest.mark.parametrize(("make", "fault"), UNFIT.values(), ids=UNFIT.keys())
def test_what_others_could_know_is_no_token(tmp_path: Path, make: Callable[[Path], None], fault: str) -> None:
    """The error says what is wrong with the file and what to do, not what is in it."""
    path = tmp_path / NAME
    make(path)

    with pytest.raises(token.NoToken) as refused:
        token.load_or_create(tmp_path / NAME)

    assert str(refused.value) == f"{path} {fault}; remove it and start again to get a new token"


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    """Without a token there is no listener beyond loopback."""
    with pytest.raises(token.NoToken, match="can't be written: No such file or directory"):
        token.load_or_create(tmp_path / "missing" / NAME)

"""Files and folders that another user could have written."""

import grp
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from posthouse.support import ownership, untrusted_files
from posthouse.support.untrusted_files import UnsafeFile

_NOBODY = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of this user alone, whatever the umask is."""
    made = tmp_path / "folder"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def own(folder: Path) -> Path:
    path = folder / "own.json"
    path.write_text('{"a": 1}')
    path.chmod(0o644)
    return path


def test_a_file_of_this_user_is_believed(own: Path) -> None:
    assert untrusted_files.read_own_bytes(own) == b'{"a": 1}'
    assert untrusted_files.read_own_json(own) == {"a": 1}


def test_a_file_that_everybody_can_write_is_refused_with_the_command_that_mends_it(own: Path) -> None:
    """Also one of a hand-made pack or rule; the message is all that its author needs."""
    own.chmod(0o646)

    with pytest.raises(UnsafeFile, match=f"can be written by other users; run: chmod go-w {own}"):
        untrusted_files.read_own_bytes(own)


@pytest.mark.parametrize(
    ("name", "members", "is_fine"),
    [
        ("me", [], True),
        ("me", ["me"], True),
        ("me", ["me", "other"], False),
        ("staff", [], False),
    ],
)
def test_only_the_users_private_group_may_write(
    own: Path, monkeypatch: pytest.MonkeyPatch, name: str, members: list[str], is_fine: bool
) -> None:
    """With umask 002 files are open to the group, which on such systems has no other member."""
    # The machine's own groups are what they are.
    gid = own.stat().st_gid
    user = pwd.struct_passwd(("me", "x", os.geteuid(), gid, "", "/home/me", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: user)
    monkeypatch.setattr(grp, "getgrgid", lambda _gid: grp.struct_group((name, "x", gid, members)))
    own.chmod(0o664)

    if is_fine:
        assert untrusted_files.read_own_bytes(own) == b'{"a": 1}'
    else:
        with pytest.raises(UnsafeFile, match="can be written by other users"):
            untrusted_files.read_own_bytes(own)


def test_a_file_in_a_folder_that_everybody_can_write_is_refused(own: Path) -> None:
    """Another user could replace it by another file of this user; a sticky bit prevents that."""
    own.parent.chmod(0o707)
    with pytest.raises(UnsafeFile, match=f"chmod go-w {own.parent}"):
        untrusted_files.read_own_bytes(own)

    own.parent.chmod(0o1777)
    assert untrusted_files.read_own_bytes(own) == b'{"a": 1}'


def test_a_link_is_judged_by_the_file_it_leads_to(own: Path, tmp_path: Path) -> None:
    """Where links are followed at all."""
    (tmp_path / "link").symlink_to(own)
    assert untrusted_files.read_own_bytes(tmp_path / "link", follow=True) == b'{"a": 1}'

    own.parent.chmod(0o707)
    with pytest.raises(UnsafeFile, match="other users"):
        untrusted_files.read_own_bytes(tmp_path / "link", follow=True)
    with pytest.raises(UnsafeFile, match="symbolic link"):
        untrusted_files.read_own_bytes(tmp_path / "link")


@pytest.mark.needs_host("root")
def test_a_file_of_another_user_is_refused(own: Path) -> None:
    """Also when nobody else can write it."""
    os.chown(own, _NOBODY, _NOBODY)

    with pytest.raises(UnsafeFile, match=f"belongs to user {_NOBODY}, not to you"):
        untrusted_files.read_own_bytes(own)


#: Becomes the user that it is given, if any, after the imports: that user may not be able to read the clone.
_ASK = """
import os, sys
from posthouse.support import ownership
for uid in map(int, sys.argv[1:]):
    os.setgroups([]), os.setresgid(uid, uid, uid), os.setresuid(uid, uid, uid)
print([uid for uid in (0, 65534) if ownership.is_own(uid)])
"""


@pytest.mark.needs_host("root")
@pytest.mark.parametrize(
    ("how", "become", "own"),
    [
        ([], [], [0]),
        ([], ["65534"], [0, 65534]),
        # Every user without a number there is shown as 65534, this process too.
        (["unshare", "--user"], [], [0]),
        # Root there may be anybody here, and 65534 is anybody else.
        (["unshare", "--user", "--map-root-user"], [], [0]),
    ],
    ids=["root", "nobody", "a namespace without users", "a namespace with one user"],
)
def test_the_uid_that_stands_for_many_users_is_not_taken_for_this_user(
    how: list[str], become: list[str], own: list[int]
) -> None:
    """Inside a user namespace a peer or file of any unmapped user has the overflow uid."""
    ask = [*how, sys.executable, "-c", _ASK, *become]
    told = subprocess.run(ask, capture_output=True, text=True, check=True)

    assert told.stdout == f"{own}\n"


def test_root_and_this_user_are_own() -> None:
    assert [uid for uid in {0, os.geteuid(), os.geteuid() + 1} if ownership.is_own(uid)] == sorted(
        {0, os.geteuid()}
    )

"""Named tokens, each in a file of its owner alone."""

import stat
from pathlib import Path

import pytest

from posthouse.errors import Conflict, InvalidInput, NotFound
from posthouse.server import token_store
from posthouse.server.token_store import TokenScopes, TokenStore
from posthouse.web.scopes import Scope


def shown(path: Path) -> bytes:
    return b"Bearer " + path.read_bytes().strip()


def test_the_first_start_makes_one_of_each_scope_and_no_later_one_does(tmp_path: Path) -> None:
    """What was revoked stays revoked."""
    tokens = TokenStore(tmp_path / "tokens")
    tokens.ensure()

    made = [*tokens.tokens()]
    assert [(one.name, one.scope) for one in made] == [
        ("default-read", "read"),
        ("default-prompt", "prompt"),
        ("default-admin", "admin"),
    ]
    assert {stat.S_IMODE(one.path.stat().st_mode) for one in made} == {0o600}
    made[2].path.unlink()
    tokens.ensure()
    assert [one.scope for one in tokens.tokens()] == ["read", "prompt"]


def test_a_token_proves_its_own_scope_until_it_is_revoked(tmp_path: Path) -> None:
    """By its name it is found again, whatever it allows."""
    tokens = TokenStore(tmp_path)
    made = tokens.create("phone", "prompt")

    assert token_store.read_scopes(tokens)[0](shown(made.path)) == "prompt"
    with pytest.raises(Conflict, match="'phone' of scope prompt"):
        tokens.create("phone", "read")
    header = shown(made.path)
    assert tokens.revoke("phone") == made
    assert token_store.read_scopes(tokens)[0](header) is None
    with pytest.raises(NotFound, match="no token 'phone'"):
        tokens.revoke("phone")


def test_a_name_is_a_name_of_a_file(tmp_path: Path) -> None:
    """Nothing is written outside the folders."""
    for name in ("", "../admin/x", ".hidden", "a b", "x" * 65):
        with pytest.raises(InvalidInput, match="invalid token name"):
            TokenStore(tmp_path).create(name, "read")
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_others_can_read_opens_nothing(tmp_path: Path) -> None:
    """It is named, and the others count."""
    tokens = TokenStore(tmp_path)
    good, bad = tokens.create("good", "read"), tokens.create("bad", "admin")
    bad.path.chmod(0o644)

    proofs, problems = token_store.read_scopes(tokens)

    assert (proofs(shown(good.path)), proofs(shown(bad.path))) == ("read", None)
    assert problems == [
        f"{bad.path} is not a file of this user alone; remove it and start again to get a new token"
    ]


SHOWN: dict[str, tuple[bytes, Scope | None]] = {
    "the token": (b"Bearer aaa", "read"),
    "the scheme in capitals": (b"BEARER bbb", "admin"),
    "another": (b"Bearer ccc", None),
    "a longer one": (b"Bearer aaaa", None),
    "none": (b"Bearer ", None),
    "another scheme": (b"Basic aaa", None),
    "no scheme": (b"aaa", None),
}


@pytest.mark.parametrize(("header", "expected"), SHOWN.values(), ids=SHOWN.keys())
def test_only_the_whole_token_proves_anything(header: bytes, expected: Scope | None) -> None:
    """And only behind its scheme."""
    assert TokenScopes(scopes={b"aaa": "read", b"bbb": "admin"})(header) == expected

"""Whose account an agent works with."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools.codex import login
from posthouse.tools.tool import Account, LoginMode, Setup

GET_IT = "printenv OPENAI_API_KEY | codex login --with-api-key"
CHATGPT = {"OPENAI_API_KEY": None, "tokens": {"id_token": "x.y.z", "refresh_token": "changes"}}


def _person(folder: Path, auth: Any) -> Path:
    """A person's home folder with a login in it."""
    (folder / ".codex").mkdir()
    (folder / ".codex" / "auth.json").write_text(auth if isinstance(auth, str) else json.dumps(auth))
    return folder


def _setup(user_home: Path, kind: LoginMode = "inherit", **variables: str) -> Setup:
    return Setup(
        home=user_home / "home",
        working_directory=user_home,
        user_home=user_home,
        login=kind,
        variables=variables,
    )


def _token(claims: dict[str, str]) -> str:
    return "h." + base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=") + ".s"


def test_a_key_in_the_variables_comes_first(tmp_path: Path) -> None:
    """It is what an agent would be given."""
    account = login.account(_person(tmp_path, CHATGPT), {"OPENAI_API_KEY": "k"})

    assert account == Account(
        kind="API key", is_shareable=True, owner="$OPENAI_API_KEY", login_command=GET_IT
    )


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        pytest.param(
            {"OPENAI_API_KEY": "k"},
            Account(kind="API key", is_shareable=True, login_command=GET_IT),
            id="key",
        ),
        pytest.param(
            {"tokens": {"id_token": _token({"email": "me@example.org"})}},
            Account(kind="ChatGPT login", owner="me@example.org", login_command=GET_IT),
            id="ChatGPT",
        ),
        pytest.param(CHATGPT, Account(kind="ChatGPT login", login_command=GET_IT), id="ChatGPT, of somebody"),
        pytest.param("{", Account(kind=None, login_command=GET_IT), id="half a file"),
        pytest.param([1], Account(kind=None, login_command=GET_IT), id="another file"),
    ],
)
def test_the_persons_own_login_is_told_from_its_file(auth: Any, expected: Account, tmp_path: Path) -> None:
    """Only a key can be shared."""
    assert login.account(_person(tmp_path, auth), {}) == expected


def test_an_inherited_key_is_handed_on(tmp_path: Path) -> None:
    """From the person's variables, or else from their login; their file is not touched."""
    person = _person(tmp_path, {"OPENAI_API_KEY": "filed"})
    before = (person / ".codex" / "auth.json").stat()

    assert login.key(_setup(person)) == {"OPENAI_API_KEY": "filed"}
    assert login.key(_setup(person, OPENAI_API_KEY="given")) == {"OPENAI_API_KEY": "given"}
    assert (person / ".codex" / "auth.json").stat() == before


def test_a_login_with_chatgpt_is_not_copied(tmp_path: Path) -> None:
    """The message says why, and names both ways out."""
    with pytest.raises(InvalidInput, check=lambda error: error.code == "login_missing") as refused:
        login.key(_setup(_person(tmp_path, CHATGPT)))

    assert "would log you out" in str(refused.value)
    assert f"`{GET_IT}`" in str(refused.value)
    assert "`--env OPENAI_API_KEY`" in str(refused.value)


def test_no_login_names_the_command_that_gets_one(tmp_path: Path) -> None:
    """Where there is nothing to inherit."""
    with pytest.raises(InvalidInput, match=r"not logged in: `printenv OPENAI_API_KEY \| codex login"):
        login.key(_setup(tmp_path))


def test_env_wants_the_variable_that_the_configuration_names(tmp_path: Path) -> None:
    """The person's own login is not looked at."""
    person = _person(tmp_path, {"OPENAI_API_KEY": "filed"})

    assert login.key(_setup(person, "env", OTHER="k"), "OTHER") == {"OTHER": "k"}
    with pytest.raises(InvalidInput, match="needs an API key in OPENAI_API_KEY: `--env OPENAI_API_KEY`"):
        login.key(_setup(person, "env"))
    with pytest.raises(InvalidInput, match="in OTHER"):
        login.key(_setup(person, "inherit"), "OTHER")


def test_none_wants_nothing(tmp_path: Path) -> None:
    """And checks nothing."""
    assert login.key(_setup(tmp_path, "none")) == {}


def test_a_home_with_a_login_of_its_own_needs_no_other(tmp_path: Path) -> None:
    """It was prepared elsewhere, and the login is its own to renew."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "auth.json").write_text(json.dumps(CHATGPT))

    assert login.key(_setup(tmp_path)) == {}

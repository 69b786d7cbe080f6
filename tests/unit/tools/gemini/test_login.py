"""Whose account gemini works with."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools.gemini import login
from posthouse.tools.tool import Account, LoginMode, Setup

GET_IT = "export GEMINI_API_KEY=<a key from https://aistudio.google.com/apikey>"
VERTEX = {
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_CLOUD_PROJECT": "acme",
    "GOOGLE_CLOUD_LOCATION": "europe-west1",
}


def _setup(home: Path, how: LoginMode, variables: Mapping[str, str] | None = None) -> Setup:
    return Setup(
        home=home / "agent", working_directory=home, user_home=home, login=how, variables=variables or {}
    )


def _write(home: Path, name: str, content: str) -> None:
    (home / ".gemini").mkdir(exist_ok=True)
    (home / ".gemini" / name).write_text(content)


def _log_in_with_google(home: Path) -> None:
    _write(home, "oauth_creds.json", json.dumps({"refresh_token": "secret"}))
    _write(home, "google_accounts.json", json.dumps({"active": "me@example.org", "old": []}))


@pytest.mark.parametrize(
    ("variables", "account"),
    [
        (
            {"GEMINI_API_KEY": "k"},
            Account(kind="API key", is_shareable=True, owner="$GEMINI_API_KEY", login_command=GET_IT),
        ),
        (VERTEX, Account(kind="Vertex AI", is_shareable=True, owner="acme", login_command=GET_IT)),
        (
            {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "acme"},
            Account(kind=None, login_command=GET_IT),
        ),
        ({}, Account(kind=None, login_command=GET_IT)),
    ],
    ids=["key", "vertex", "half a vertex", "nothing"],
)
def test_an_account_in_variables(tmp_path: Path, variables: dict[str, str], account: Account) -> None:
    """A key and Vertex AI may be shared."""
    assert login.account(tmp_path, variables) == account


def test_an_account_in_files(tmp_path: Path) -> None:
    """A Google login has an owner and may not be shared; a key kept beside it may."""
    _write(tmp_path, "settings.json", json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
    in_keychain = login.account(tmp_path, {})
    _log_in_with_google(tmp_path)
    with_google = login.account(tmp_path, {})
    _write(tmp_path, ".env", "# mine\nexport GEMINI_API_KEY='k'\n")
    with_key = login.account(tmp_path, {})

    assert in_keychain == Account(kind="API key in the keychain", login_command=GET_IT)
    assert with_google == Account(kind="Google login", owner="me@example.org", login_command=GET_IT)
    assert with_key == Account(kind="API key", is_shareable=True, login_command=GET_IT)


@pytest.mark.parametrize("name", ["settings.json", "google_accounts.json"])
@pytest.mark.parametrize("content", ["{", "[]", '{"security": 1, "active": 1}'])
def test_files_of_another_shape_tell_nothing(tmp_path: Path, name: str, content: str) -> None:
    """They are the person's, and nobody's fault here."""
    _write(tmp_path, name, content)

    assert login.account(tmp_path, {}) == Account(kind=None, login_command=GET_IT)


def test_inherited_is_what_the_account_needs_and_no_more(tmp_path: Path) -> None:
    """Of the caller's whole environment, the key and the address at which it is good."""
    key = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "http://localhost:1"}

    assert login.login_variables(_setup(tmp_path, "inherit", {**key, "OTHER": "x"})) == key
    assert login.login_variables(_setup(tmp_path, "inherit", {**VERTEX, "OTHER": "x"})) == VERTEX


def test_a_key_from_the_persons_own_file_is_inherited(tmp_path: Path) -> None:
    """The file stays as it is."""
    _write(tmp_path, ".env", 'GEMINI_API_KEY="k"\n')

    assert login.login_variables(_setup(tmp_path, "inherit")) == {"GEMINI_API_KEY": "k"}


def test_a_google_login_is_not_shared(tmp_path: Path) -> None:
    """The error says whose it is, why not, and what to do; no token is in it."""
    _log_in_with_google(tmp_path)

    with pytest.raises(InvalidInput, check=lambda error: error.code == "login_missing") as raised:
        login.login_variables(_setup(tmp_path, "inherit"))
    assert str(raised.value) == (
        "your Google login of me@example.org can't be shared: an agent would use a copy of it. "
        f"Instead: `{GET_IT}`"
    )


def test_no_login_to_inherit(tmp_path: Path) -> None:
    """The error tells how to get one."""
    with pytest.raises(InvalidInput, match="gemini is not logged in: `export GEMINI_API_KEY="):
        login.login_variables(_setup(tmp_path, "inherit"))


def test_a_given_key_needs_nothing_added(tmp_path: Path) -> None:
    """And a missing one is named; what the person has does not count."""
    _write(tmp_path, ".env", "GEMINI_API_KEY=k\n")

    assert login.login_variables(_setup(tmp_path, "env", {"GEMINI_API_KEY": "k"})) == {}
    with pytest.raises(InvalidInput, match="--env GEMINI_API_KEY"):
        login.login_variables(_setup(tmp_path, "env"))


def test_without_a_login_nothing_is_checked(tmp_path: Path) -> None:
    """Whoever asks for none gets none."""
    assert login.login_variables(_setup(tmp_path, "none")) == {}


@pytest.mark.parametrize(
    ("variables", "kind"),
    [({}, "gemini-api-key"), (VERTEX, "vertex-ai"), ({**VERTEX, "GEMINI_API_KEY": "k"}, "gemini-api-key")],
)
def test_the_cli_is_told_the_kind_of_account(variables: dict[str, str], kind: str) -> None:
    """It refuses to start without."""
    assert login.auth_type(variables) == kind

"""Whose account an agent works with."""

import json
from pathlib import Path
from typing import Any

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools.claude import login
from posthouse.tools.settings import BadSettings
from posthouse.tools.tool import Account, Setup
from posthouse.tools.tool import LoginMode as Kind

GET_IT = "claude setup-token"
SUBSCRIPTION = {"claudeAiOauth": {"accessToken": "a", "refreshToken": "changes"}}


def _person(folder: Path, **contents: dict[str, Any]) -> Path:
    """A person's home folder with files in it, named without their suffix."""
    places = {
        "settings": ".claude/settings.json",
        "credentials": ".claude/.credentials.json",
        "state": ".claude.json",
    }
    (folder / ".claude").mkdir()
    for name, content in contents.items():
        (folder / places[name]).write_text(json.dumps(content))
    return folder


def _setup(user_home: Path, kind: Kind = "inherit", **variables: str) -> Setup:
    return Setup(
        home=user_home / "home",
        working_directory=user_home,
        user_home=user_home,
        login=kind,
        variables=variables,
    )


@pytest.mark.parametrize(
    ("variables", "kind", "shared"),
    [
        pytest.param(
            {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://here", "OTHER": "x"},
            "API key",
            {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://here"},
            id="a key, with the address it is for",
        ),
        pytest.param(
            {"CLAUDE_CODE_OAUTH_TOKEN": "t"},
            "subscription token",
            {"CLAUDE_CODE_OAUTH_TOKEN": "t"},
            id="a durable token",
        ),
        pytest.param(
            {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "r", "AWS_PROFILE": "p"},
            "Amazon Bedrock",
            {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "r", "AWS_PROFILE": "p"},
            id="a cloud, with its credentials",
        ),
        pytest.param(
            {"CLAUDE_CODE_USE_VERTEX": "0", "ANTHROPIC_AUTH_TOKEN": "t", "CLOUD_ML_REGION": "r"},
            "gateway token",
            {"ANTHROPIC_AUTH_TOKEN": "t"},
            id="a cloud that is turned off does not count",
        ),
    ],
)
def test_variables_come_first_and_what_belongs_to_them_is_shared(
    variables: dict[str, str], kind: str, shared: dict[str, str], tmp_path: Path
) -> None:
    """Nothing else of the person's environment reaches the agent."""
    found = login.resolve(_setup(_person(tmp_path, credentials=SUBSCRIPTION), "inherit", **variables))

    assert (found.account.kind, found.account.is_shareable, found.variables) == (kind, True, shared)


def test_variables_in_the_persons_settings_count_as_their_own(tmp_path: Path) -> None:
    """The CLI would take them, too."""
    person = _person(tmp_path, settings={"env": {"ANTHROPIC_API_KEY": "k", "NUMBER": 1}})

    assert login.resolve(_setup(person)).variables == {"ANTHROPIC_API_KEY": "k"}


def test_a_helper_is_shared_as_a_command(tmp_path: Path) -> None:
    """It prints the key when it is needed; the key itself is not seen here."""
    person = _person(tmp_path, settings={"apiKeyHelper": "get-key"})

    found = login.resolve(_setup(person, ANTHROPIC_BASE_URL="http://here", OTHER="x"))
    assert (found.account.kind, found.variables, found.settings) == (
        "API key helper",
        {"ANTHROPIC_BASE_URL": "http://here"},
        {"apiKeyHelper": "get-key"},
    )


def test_a_key_that_the_cli_keeps_is_shared_as_a_variable(tmp_path: Path) -> None:
    """The person's file is not touched."""
    state = {"primaryApiKey": "k", "oauthAccount": {"emailAddress": "me@example.org"}}
    person = _person(tmp_path, state=state)
    before = (person / ".claude.json").stat()

    found = login.resolve(_setup(person, ANTHROPIC_BASE_URL="http://here"))
    assert found.account == Account(
        kind="API key", is_shareable=True, owner="me@example.org", login_command=GET_IT
    )
    assert found.variables == {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://here"}
    assert (person / ".claude.json").stat() == before


def test_a_subscription_is_not_copied(tmp_path: Path) -> None:
    """The message says whose it is, why not, and what gets a token."""
    state = {"oauthAccount": {"emailAddress": "me@example.org"}}
    person = _person(tmp_path, credentials=SUBSCRIPTION, state=state)

    assert login.find(person, {}).account == Account(
        kind="subscription", owner="me@example.org", login_command=GET_IT
    )
    with pytest.raises(InvalidInput, check=lambda error: error.code == "login_missing") as refused:
        login.resolve(_setup(person))
    assert "login (me@example.org) can't be shared" in str(refused.value)
    assert "Run `claude setup-token`" in str(refused.value)
    assert "`--env CLAUDE_CODE_OAUTH_TOKEN`" in str(refused.value)


def test_no_login_names_the_command_that_gets_one(tmp_path: Path) -> None:
    """Where there is nothing to inherit."""
    assert login.find(tmp_path, {}).account == Account(kind=None, login_command=GET_IT)
    with pytest.raises(InvalidInput, match=r"not logged in\. Run `claude setup-token`"):
        login.resolve(_setup(tmp_path))


def test_env_wants_a_variable_that_was_given(tmp_path: Path) -> None:
    """The person's own login is not looked at."""
    person = _person(tmp_path, state={"primaryApiKey": "k"})

    assert login.resolve(_setup(person, "env", ANTHROPIC_API_KEY="given")).variables == {}
    with pytest.raises(InvalidInput, match="needs ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN"):
        login.resolve(_setup(person, "env"))


def test_none_wants_nothing(tmp_path: Path) -> None:
    """And checks nothing."""
    assert login.resolve(_setup(tmp_path, "none")).variables == {}


def test_a_home_with_a_login_of_its_own_needs_no_other(tmp_path: Path) -> None:
    """It was prepared elsewhere, and the login is its own to renew."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".credentials.json").write_text(json.dumps(SUBSCRIPTION))

    assert login.resolve(_setup(tmp_path)).variables == {}


def test_the_person_may_keep_everything_in_another_folder(tmp_path: Path) -> None:
    """Where their own variable points."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / ".claude.json").write_text('{"primaryApiKey": "k"}')

    found = login.find(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")})
    assert found.variables == {"ANTHROPIC_API_KEY": "k"}


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Rather than taken for no login."""
    _person(tmp_path, state={})
    (tmp_path / ".claude.json").write_text("{")

    with pytest.raises(BadSettings, match=r"\.claude\.json can't be read"):
        login.resolve(_setup(tmp_path))

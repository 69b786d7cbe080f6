"""The account that Claude Code uses.

Keys, long-lived tokens and cloud credentials can be shared by any number of agents. A `/login` can not: its
refresh token rotates at every use, and using a copy logs the owner out.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from posthouse.tools import settings
from posthouse.tools.tool import Account, Setup, login_missing

API_KEY = "ANTHROPIC_API_KEY"
TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"
HOME_VARIABLE = "CLAUDE_CONFIG_DIR"
TOKEN_COMMAND = "claude setup-token"
#: Setting: a shell command that prints a key. It can be shared unchanged.
_KEY_HELPER = "apiKeyHelper"
_STORED_KEY = "primaryApiKey"
#: The user's settings.
SETTINGS = "settings.json"
#: The program's state: onboarding, trust, approved keys. The user's own is one folder up.
STATE = ".claude.json"
_CREDENTIALS = ".credentials.json"


@dataclass(frozen=True, slots=True)
class _LoginMethod:
    """A login by environment variables: the one that enables it, and related ones."""

    kind: str
    variable: str
    related: tuple[str, ...] = ()


#: The API endpoint, for any account.
_ENDPOINT = ("ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS")
_AWS = (
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "ANTHROPIC_BEDROCK_BASE_URL",
)
_GOOGLE = (
    "CLOUD_ML_REGION",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "ANTHROPIC_VERTEX_BASE_URL",
    "GOOGLE_APPLICATION_CREDENTIALS",
)
_MICROSOFT = ("ANTHROPIC_FOUNDRY_API_KEY", "ANTHROPIC_FOUNDRY_RESOURCE", "ANTHROPIC_FOUNDRY_BASE_URL")
_LOGIN_METHODS = (
    _LoginMethod("Amazon Bedrock", "CLAUDE_CODE_USE_BEDROCK", _AWS),
    _LoginMethod("Google Vertex AI", "CLAUDE_CODE_USE_VERTEX", _GOOGLE),
    _LoginMethod("Microsoft Foundry", "CLAUDE_CODE_USE_FOUNDRY", _MICROSOFT),
    _LoginMethod("gateway token", "ANTHROPIC_AUTH_TOKEN", _ENDPOINT),
    _LoginMethod("API key", API_KEY, _ENDPOINT),
    _LoginMethod("subscription token", TOKEN, _ENDPOINT),
)
_FALSE_VALUES = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """The user's login, with the variables and settings that share it."""

    account: Account
    #: Secret.
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)


def find(user_home: Path, variables: Mapping[str, str]) -> Login:
    """The user's login, from *variables* and files. If there are several, the one that the CLI prefers.

    Raises:
        BadSettings: A file can't be read.
    """
    own = variables.get(HOME_VARIABLE)
    folder = Path(own) if own else user_home / ".claude"
    state_folder = folder if own else user_home
    user_settings = settings.read(folder / SETTINGS)
    # In the CLI, variables of its settings override those of its environment.
    effective = {**variables, **dict(_string_items(user_settings.get("env")))}
    return (
        _from_variables(effective)
        or _from_helper(user_settings, effective)
        or _from_files(folder, settings.read(state_folder / STATE), effective)
    )


def resolve(setup: Setup) -> Login:
    """The login that *setup* requests.

    Raises:
        InvalidInput: The agent would have no account; the message names the command that creates one.
        BadSettings: One of the user's files can't be read.
    """
    if setup.login == "none":
        return Login(account=Account(kind=None))
    if setup.login == "env":
        if given := _from_variables(setup.variables):
            return Login(account=given.account)
        raise login_missing(
            f"claude needs {API_KEY} or {TOKEN}: `--env {API_KEY}` passes the value you have set; "
            f"`{TOKEN_COMMAND}` creates a token"
        )
    found = find(setup.user_home, setup.variables)
    if found.account.is_shareable or _has_own_login(setup.home):
        return found
    raise login_missing(_missing_login_message(found.account))


def _missing_login_message(account: Account) -> str:
    advice = f"Run `{TOKEN_COMMAND}` and give the agent the token it prints, `--env {TOKEN}`"
    if account.kind is None:
        return f"claude is not logged in. {advice}, or a key, `--env {API_KEY}`"
    whose = f" ({account.owner})" if account.owner else ""
    return (
        f"your claude login{whose} can't be shared: using a copy of its refresh token logs you out. {advice}"
    )


def _from_variables(variables: Mapping[str, str]) -> Login | None:
    methods = [
        each
        for each in _LOGIN_METHODS
        if variables.get(each.variable, "").strip().lower() not in _FALSE_VALUES
    ]
    if not methods:
        return None
    names = dict.fromkeys(name for method in methods for name in (method.variable, *method.related))
    return Login(
        account=Account(
            kind=methods[0].kind,
            is_shareable=True,
            owner=f"${methods[0].variable}",
            login_command=TOKEN_COMMAND,
        ),
        variables=_non_empty(names, variables),
    )


def _from_helper(user_settings: Mapping[str, Any], variables: Mapping[str, str]) -> Login | None:
    helper = user_settings.get(_KEY_HELPER)
    if not isinstance(helper, str) or not helper.strip():
        return None
    account = Account(kind="API key helper", is_shareable=True, owner=helper, login_command=TOKEN_COMMAND)
    return Login(account=account, variables=_non_empty(_ENDPOINT, variables), settings={_KEY_HELPER: helper})


def _from_files(folder: Path, state: Mapping[str, Any], variables: Mapping[str, str]) -> Login:
    key = state.get(_STORED_KEY)
    if isinstance(key, str) and key:
        account = Account(kind="API key", is_shareable=True, owner=_owner(state), login_command=TOKEN_COMMAND)
        return Login(account=account, variables={API_KEY: key, **_non_empty(_ENDPOINT, variables)})
    has_login = bool(settings.read(folder / _CREDENTIALS).get("claudeAiOauth"))
    kind = "subscription" if has_login else None
    return Login(
        account=Account(kind=kind, owner=_owner(state) if kind else None, login_command=TOKEN_COMMAND)
    )


def _has_own_login(home: Path) -> bool:
    """Whether a home prepared elsewhere has a login."""
    return find(home, {HOME_VARIABLE: str(home)}).account.kind is not None


def _owner(state: Mapping[str, Any]) -> str | None:
    account = state.get("oauthAccount")
    address = account.get("emailAddress") if isinstance(account, Mapping) else None
    return address if isinstance(address, str) else None


def _non_empty(names: Iterable[str], variables: Mapping[str, str]) -> dict[str, str]:
    return {name: variables[name] for name in names if variables.get(name)}


def _string_items(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        yield from ((name, text) for name, text in value.items() if isinstance(text, str))

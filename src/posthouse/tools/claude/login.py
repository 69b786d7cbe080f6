"""Whose account Claude Code works with.

Keys, long-lived tokens and cloud credentials may be shared by any number of agents. A login by `/login` may
not: it lives on a refresh token that changes at every use, and a copy of it logs its owner out.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from posthouse.tools import settings
from posthouse.tools.tool import Account, LoginMissing, Setup

API_KEY = "ANTHROPIC_API_KEY"
TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"
HOME_VARIABLE = "CLAUDE_CONFIG_DIR"
GET_IT = "claude setup-token"
#: A shell command that prints a key; it may be shared as it is.
_HELPER = "apiKeyHelper"
_KEPT_KEY = "primaryApiKey"
#: What a person sets.
SETTINGS = "settings.json"
#: What the program remembers: onboarding, trust, approved keys. A person's own lies one folder up.
STATE = ".claude.json"
_CREDENTIALS = ".credentials.json"


@dataclass(frozen=True, slots=True)
class _Way:
    """One way of logging in by variables: what turns it on, and what goes with it."""

    kind: str
    variable: str
    companions: tuple[str, ...] = ()


#: Where the model is reached, whoever pays.
_ADDRESS = ("ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS")
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
_WAYS = (
    _Way("Amazon Bedrock", "CLAUDE_CODE_USE_BEDROCK", _AWS),
    _Way("Google Vertex AI", "CLAUDE_CODE_USE_VERTEX", _GOOGLE),
    _Way("Microsoft Foundry", "CLAUDE_CODE_USE_FOUNDRY", _MICROSOFT),
    _Way("gateway token", "ANTHROPIC_AUTH_TOKEN", _ADDRESS),
    _Way("API key", API_KEY, _ADDRESS),
    _Way("subscription token", TOKEN, _ADDRESS),
)
_OFF = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """The person's login, and what an agent needs to share it."""

    account: Account
    #: Secret.
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)


def find(user_home: Path, variables: Mapping[str, str]) -> Login:
    """The person's login as *variables* and their own files tell it. Of several, the one that the CLI takes.

    Raises:
        BadSettings: One of their files can't be read.
    """
    own = variables.get(HOME_VARIABLE)
    folder = Path(own) if own else user_home / ".claude"
    state_folder = folder if own else user_home
    wishes = settings.read(folder / SETTINGS)
    # The CLI lets variables of its settings count more than those it is given.
    effective = {**variables, **dict(_texts(wishes.get("env")))}
    return (
        _by_variables(effective)
        or _by_helper(wishes, effective)
        or _by_files(folder, settings.read(state_folder / STATE), effective)
    )


def required(setup: Setup) -> Login:
    """The login that *setup* asks for.

    Raises:
        LoginMissing: The agent would have no account; the message names the command that gets one.
        BadSettings: One of the person's files can't be read.
    """
    if setup.login == "none":
        return Login(account=Account(kind=None))
    if setup.login == "env":
        if given := _by_variables(setup.variables):
            return Login(account=given.account)
        raise LoginMissing(
            f"claude needs {API_KEY} or {TOKEN}: `--env {API_KEY}` hands on the value you have set; "
            f"`{GET_IT}` makes a token"
        )
    found = find(setup.user_home, setup.variables)
    if found.account.is_shareable or _has_own(setup.home):
        return found
    raise LoginMissing(_why_not(found.account))


def _why_not(account: Account) -> str:
    hand_on = f"run `{GET_IT}` and give the agent the token it prints, `--env {TOKEN}`"
    if account.kind is None:
        return f"claude is not logged in: {hand_on}, or a key, `--env {API_KEY}`"
    whose = f" ({account.owner})" if account.owner else ""
    return f"your claude login{whose} changes at every use, and a copy of it would log you out: {hand_on}"


def _by_variables(variables: Mapping[str, str]) -> Login | None:
    ways = [way for way in _WAYS if variables.get(way.variable, "").strip().lower() not in _OFF]
    if not ways:
        return None
    names = dict.fromkeys(name for way in ways for name in (way.variable, *way.companions))
    return Login(
        account=Account(kind=ways[0].kind, is_shareable=True, owner=f"${ways[0].variable}", get_it=GET_IT),
        variables=_those_set(names, variables),
    )


def _by_helper(wishes: Mapping[str, Any], variables: Mapping[str, str]) -> Login | None:
    helper = wishes.get(_HELPER)
    if not isinstance(helper, str) or not helper.strip():
        return None
    account = Account(kind="API key helper", is_shareable=True, owner=helper, get_it=GET_IT)
    return Login(account=account, variables=_those_set(_ADDRESS, variables), settings={_HELPER: helper})


def _by_files(folder: Path, state: Mapping[str, Any], variables: Mapping[str, str]) -> Login:
    key = state.get(_KEPT_KEY)
    if isinstance(key, str) and key:
        account = Account(kind="API key", is_shareable=True, owner=_owner(state), get_it=GET_IT)
        return Login(account=account, variables={API_KEY: key, **_those_set(_ADDRESS, variables)})
    has_login = bool(settings.read(folder / _CREDENTIALS).get("claudeAiOauth"))
    kind = "subscription" if has_login else None
    return Login(account=Account(kind=kind, owner=_owner(state) if kind else None, get_it=GET_IT))


def _has_own(home: Path) -> bool:
    """Whether a home that was prepared elsewhere has a login of its own."""
    return find(home, {HOME_VARIABLE: str(home)}).account.kind is not None


def _owner(state: Mapping[str, Any]) -> str | None:
    account = state.get("oauthAccount")
    address = account.get("emailAddress") if isinstance(account, Mapping) else None
    return address if isinstance(address, str) else None


def _those_set(names: Iterable[str], variables: Mapping[str, str]) -> dict[str, str]:
    return {name: variables[name] for name in names if variables.get(name)}


def _texts(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        yield from ((name, text) for name, text in value.items() if isinstance(text, str))

"""The account that Gemini CLI uses.

An API key can be shared by any number of agents. A Google login is not: the CLI rewrites its token file, so
an agent would use a copy of the refresh token, which neither follows a new login of its owner nor ends with
the old one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.support import untrusted_files
from posthouse.tools.tool import Account, Setup, login_missing

KEY_VARIABLE = "GEMINI_API_KEY"
_USE_VERTEX = "GOOGLE_GENAI_USE_VERTEXAI"
_VERTEX_KEY = "GOOGLE_API_KEY"
_VERTEX_LOCATION = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
#: The variables of one account, with its endpoint.
_KEY_ACCOUNT_VARIABLES = (KEY_VARIABLE, "GOOGLE_GEMINI_BASE_URL")
_VERTEX_ACCOUNT_VARIABLES = (
    *(_USE_VERTEX, _VERTEX_KEY, *_VERTEX_LOCATION),
    *("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_VERTEX_BASE_URL"),
)
_USER_FOLDER = ".gemini"
_LOGIN_COMMAND = f"export {KEY_VARIABLE}=<a key from https://aistudio.google.com/apikey>"
_MAX_BYTES = 1 << 20


def auth_type(variables: Mapping[str, str]) -> str:
    """The CLI's name for the kind of account in *variables*; an API key if there is none."""
    return "vertex-ai" if not variables.get(KEY_VARIABLE) and _has_vertex(variables) else "gemini-api-key"


def account(user_home: Path, variables: Mapping[str, str]) -> Account:
    """The user's login, from variables and the user's config folder."""
    folder = user_home / _USER_FOLDER
    if variables.get(KEY_VARIABLE):
        return Account(
            kind="API key", is_shareable=True, owner=f"${KEY_VARIABLE}", login_command=_LOGIN_COMMAND
        )
    if _has_vertex(variables):
        return Account(
            kind="Vertex AI",
            is_shareable=True,
            owner=variables.get(_VERTEX_LOCATION[0]),
            login_command=_LOGIN_COMMAND,
        )
    if _stored_key(folder):
        return Account(kind="API key", is_shareable=True, login_command=_LOGIN_COMMAND)
    if (folder / "oauth_creds.json").is_file():
        return Account(kind="Google login", owner=_google_owner(folder), login_command=_LOGIN_COMMAND)
    if _selected_auth_type(folder) == "gemini-api-key":
        return Account(kind="API key in the keychain", login_command=_LOGIN_COMMAND)
    return Account(kind=None, login_command=_LOGIN_COMMAND)


def login_variables(setup: Setup) -> dict[str, str]:
    """The additional variables for the login that *setup* requests.

    Raises:
        InvalidInput: The agent would have no account; the message names the command that creates one.
    """
    if setup.login == "none":
        return {}
    if setup.variables.get(KEY_VARIABLE):
        return _inherited_variables(setup, _KEY_ACCOUNT_VARIABLES)
    if _has_vertex(setup.variables):
        return _inherited_variables(setup, _VERTEX_ACCOUNT_VARIABLES)
    if setup.login == "env":
        raise login_missing(
            f"gemini needs an API key in {KEY_VARIABLE}: `--env {KEY_VARIABLE}` passes the value that "
            "you have set"
        )
    if key := _stored_key(setup.user_home / _USER_FOLDER):
        return {KEY_VARIABLE: key}
    raise login_missing(_missing_login_message(account(setup.user_home, setup.variables)))


def _inherited_variables(setup: Setup, names: tuple[str, ...]) -> dict[str, str]:
    """The account's variables in an inherited environment. Explicit ones are passed already."""
    if setup.login != "inherit":
        return {}
    return {name: setup.variables[name] for name in names if setup.variables.get(name)}


def _missing_login_message(found: Account) -> str:
    if found.kind is None:
        return f"gemini is not logged in: `{_LOGIN_COMMAND}`"
    whose = f" of {found.owner}" if found.owner else ""
    refusal = f"your {found.kind}{whose} can't be shared: an agent would use a copy of it."
    return f"{refusal} Instead: `{_LOGIN_COMMAND}`"


def _has_vertex(variables: Mapping[str, str]) -> bool:
    if variables.get(_USE_VERTEX) != "true":
        return False
    return bool(variables.get(_VERTEX_KEY)) or all(variables.get(name) for name in _VERTEX_LOCATION)


def _stored_key(folder: Path) -> str | None:
    """The key in `.env`, the location that the CLI's manual recommends."""
    for line in _text(folder / ".env").splitlines():
        name, _, value = line.strip().removeprefix("export ").partition("=")
        if name.strip() == KEY_VARIABLE:
            return value.strip().strip("\"'") or None
    return None


def _google_owner(folder: Path) -> str | None:
    active = _json(folder / "google_accounts.json").get("active")
    return active if isinstance(active, str) else None


def _selected_auth_type(folder: Path) -> object:
    """The kind of account selected in the CLI."""
    found: object = _json(folder / "settings.json")
    for name in ("security", "auth", "selectedType"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found = untrusted_files.decode_json(_text(path))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(path: Path) -> str:
    """The start of a user's file; "" if it is missing or unreadable."""
    try:
        with untrusted_files.open_file(path, follow=True) as stream:
            return stream.read(_MAX_BYTES).decode(errors="replace")
    except OSError:
        return ""

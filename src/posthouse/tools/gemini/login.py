"""Whose account Gemini CLI works with.

A key may be shared by any number of agents. A login with Google is not: the CLI keeps its tokens in a file
that it rewrites, so an agent would live on a copy of the refresh token, which neither follows a new login of
its owner nor ends with the old one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.support import untrusted_files
from posthouse.tools.tool import Account, LoginMissing, Setup

KEY_VARIABLE = "GEMINI_API_KEY"
_USE_VERTEX = "GOOGLE_GENAI_USE_VERTEXAI"
_VERTEX_KEY = "GOOGLE_API_KEY"
_VERTEX_PLACE = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
#: What makes up one account, with the address at which it is good.
_WITH_KEY = (KEY_VARIABLE, "GOOGLE_GEMINI_BASE_URL")
_WITH_VERTEX = (
    *(_USE_VERTEX, _VERTEX_KEY, *_VERTEX_PLACE),
    *("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_VERTEX_BASE_URL"),
)
_USER_FOLDER = ".gemini"
_GET_IT = f"export {KEY_VARIABLE}=<a key from https://aistudio.google.com/apikey>"
_MAX_BYTES = 1 << 20


def auth_type(variables: Mapping[str, str]) -> str:
    """The CLI's own name for the kind of account that *variables* hold; a key, where they hold none."""
    return "vertex-ai" if not variables.get(KEY_VARIABLE) and _has_vertex(variables) else "gemini-api-key"


def account(user_home: Path, variables: Mapping[str, str]) -> Account:
    """The person's login, as their variables and their own config folder tell it."""
    folder = user_home / _USER_FOLDER
    if variables.get(KEY_VARIABLE):
        return Account(kind="API key", is_shareable=True, owner=f"${KEY_VARIABLE}", get_it=_GET_IT)
    if _has_vertex(variables):
        return Account(
            kind="Vertex AI", is_shareable=True, owner=variables.get(_VERTEX_PLACE[0]), get_it=_GET_IT
        )
    if _stored_key(folder):
        return Account(kind="API key", is_shareable=True, get_it=_GET_IT)
    if (folder / "oauth_creds.json").is_file():
        return Account(kind="Google login", owner=_google_owner(folder), get_it=_GET_IT)
    if _selected(folder) == "gemini-api-key":
        return Account(kind="API key in the keychain", get_it=_GET_IT)
    return Account(kind=None, get_it=_GET_IT)


def inherited(setup: Setup) -> dict[str, str]:
    """What the program needs beside its own variables to be logged in as *setup* asks.

    Raises:
        LoginMissing: The agent would have no account; the message tells how to get one.
    """
    if setup.login == "none":
        return {}
    if setup.variables.get(KEY_VARIABLE):
        return _handed_on(setup, _WITH_KEY)
    if _has_vertex(setup.variables):
        return _handed_on(setup, _WITH_VERTEX)
    if setup.login == "env":
        raise LoginMissing(
            f"gemini needs an API key in {KEY_VARIABLE}: `--env {KEY_VARIABLE}` hands on the value that "
            "you have set"
        )
    if key := _stored_key(setup.user_home / _USER_FOLDER):
        return {KEY_VARIABLE: key}
    raise LoginMissing(_why_not(account(setup.user_home, setup.variables)))


def _handed_on(setup: Setup, names: tuple[str, ...]) -> dict[str, str]:
    """Of an inherited environment, what the account needs; what was given explicitly is there already."""
    if setup.login != "inherit":
        return {}
    return {name: setup.variables[name] for name in names if setup.variables.get(name)}


def _why_not(found: Account) -> str:
    if found.kind is None:
        return f"gemini is not logged in: `{_GET_IT}`"
    whose = f" of {found.owner}" if found.owner else ""
    return (
        f"your {found.kind}{whose} can't be shared: an agent would live on a copy of it. Instead: `{_GET_IT}`"
    )


def _has_vertex(variables: Mapping[str, str]) -> bool:
    if variables.get(_USE_VERTEX) != "true":
        return False
    return bool(variables.get(_VERTEX_KEY)) or all(variables.get(name) for name in _VERTEX_PLACE)


def _stored_key(folder: Path) -> str | None:
    """The key in `.env`, where the CLI's manual has people keep it."""
    for line in _text(folder / ".env").splitlines():
        name, _, value = line.strip().removeprefix("export ").partition("=")
        if name.strip() == KEY_VARIABLE:
            return value.strip().strip("\"'") or None
    return None


def _google_owner(folder: Path) -> str | None:
    active = _json(folder / "google_accounts.json").get("active")
    return active if isinstance(active, str) else None


def _selected(folder: Path) -> object:
    """The kind of account that the person chose in the CLI."""
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
    """The beginning of a file of the person's; "" when there is none, or it is not ours to read."""
    try:
        with untrusted_files.open_file(path, follow=True) as stream:
            return stream.read(_MAX_BYTES).decode(errors="replace")
    except OSError:
        return ""

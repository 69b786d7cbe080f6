"""The account that Codex uses.

An API key can be shared by any number of agents. A ChatGPT login can not: its refresh token rotates at every
use, and using a copy logs the owner out.
"""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.support import untrusted_files
from posthouse.tools.tool import Account, Setup, login_missing

KEY_VARIABLE = "OPENAI_API_KEY"
#: In a config home. Holds the API key or the tokens of a ChatGPT login.
AUTH_FILE = "auth.json"
_USER_HOME = ".codex"
_LOGIN_COMMAND = f"printenv {KEY_VARIABLE} | codex login --with-api-key"
_MAX_AUTH_BYTES = 1 << 20


def account(user_home: Path, variables: Mapping[str, str]) -> Account:
    """The user's login, from variables and the user's config home."""
    if variables.get(KEY_VARIABLE):
        return Account(
            kind="API key", is_shareable=True, owner=f"${KEY_VARIABLE}", login_command=_LOGIN_COMMAND
        )
    auth = _read_auth(user_home / _USER_HOME)
    if _key_in(auth):
        return Account(kind="API key", is_shareable=True, login_command=_LOGIN_COMMAND)
    if tokens := auth.get("tokens"):
        return Account(kind="ChatGPT login", owner=_owner(tokens), login_command=_LOGIN_COMMAND)
    return Account(kind=None, login_command=_LOGIN_COMMAND)


def key(setup: Setup, needed: str = KEY_VARIABLE) -> dict[str, str]:
    """The variable with the API key for the login that *setup* requests; empty if none is needed.

    *needed* is the variable from which the home's configuration reads the key.

    Raises:
        InvalidInput: The agent would have no account; the message names the command that creates one.
    """
    is_default = needed == KEY_VARIABLE
    if given := setup.variables.get(needed):
        return {needed: given}
    if setup.login == "none" or (is_default and _is_logged_in(setup.home)):
        return {}
    if setup.login == "inherit" and is_default:
        return {KEY_VARIABLE: _inherited_key(setup.user_home)}
    raise login_missing(f"codex needs an API key in {needed}: `--env {needed}` passes the value you have set")


def _inherited_key(user_home: Path) -> str:
    auth = _read_auth(user_home / _USER_HOME)
    if found := _key_in(auth):
        return found
    if auth.get("tokens"):
        raise login_missing(
            "your codex login is a ChatGPT login, and an agent that used a copy would log you out: "
            f"give the agent an API key, `--env {KEY_VARIABLE}`, or store one for all: `{_LOGIN_COMMAND}`"
        )
    raise login_missing(
        f"codex is not logged in: `{_LOGIN_COMMAND}` stores an API key for all agents, "
        f"`--env {KEY_VARIABLE}` passes one to this agent"
    )


def _is_logged_in(home: Path) -> bool:
    """Whether a home prepared elsewhere has a login."""
    auth = _read_auth(home)
    return bool(_key_in(auth) or auth.get("tokens"))


def _key_in(auth: Mapping[str, Any]) -> str | None:
    found = auth.get(KEY_VARIABLE)
    return found if isinstance(found, str) and found else None


def _read_auth(home: Path) -> Mapping[str, Any]:
    try:
        with untrusted_files.open_file(home / AUTH_FILE, follow=True) as stream:
            content = untrusted_files.decode_json(stream.read(_MAX_AUTH_BYTES))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _owner(tokens: object) -> str | None:
    """The email address in the identity token. Unverified: for display only."""
    identity = tokens.get("id_token") if isinstance(tokens, Mapping) else None
    parts = identity.split(".") if isinstance(identity, str) else []
    if len(parts) != 3:
        return None
    try:
        claims = untrusted_files.decode_json(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError):
        return None
    address = claims.get("email") if isinstance(claims, dict) else None
    return address if isinstance(address, str) else None

"""Whose account Codex works with.

An API key may be shared by any number of agents. A login with ChatGPT may not: it lives on a refresh token
that changes at every use, and a copy of it logs its owner out.
"""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.support import untrusted_files
from posthouse.tools.tool import Account, LoginMissing, Setup

KEY_VARIABLE = "OPENAI_API_KEY"
#: In a config home; beside the key it holds the tokens of a login with ChatGPT.
AUTH_FILE = "auth.json"
_USER_HOME = ".codex"
_GET_IT = f"printenv {KEY_VARIABLE} | codex login --with-api-key"
_MAX_AUTH_BYTES = 1 << 20


def account(user_home: Path, variables: Mapping[str, str]) -> Account:
    """The person's login, as their variables and their own config home tell it."""
    if variables.get(KEY_VARIABLE):
        return Account(kind="API key", is_shareable=True, owner=f"${KEY_VARIABLE}", get_it=_GET_IT)
    auth = _read_auth(user_home / _USER_HOME)
    if _key_in(auth):
        return Account(kind="API key", is_shareable=True, get_it=_GET_IT)
    if tokens := auth.get("tokens"):
        return Account(kind="ChatGPT login", owner=_owner(tokens), get_it=_GET_IT)
    return Account(kind=None, get_it=_GET_IT)


def key(setup: Setup, needed: str = KEY_VARIABLE) -> dict[str, str]:
    """The variable with the key that the program needs to be logged in as *setup* asks; none for no login.

    *needed* is the variable that the home's configuration takes the key from.

    Raises:
        LoginMissing: The agent would have no account; the message names the command that gets one.
    """
    is_ours = needed == KEY_VARIABLE
    if given := setup.variables.get(needed):
        return {needed: given}
    if setup.login == "none" or (is_ours and _is_logged_in(setup.home)):
        return {}
    if setup.login == "inherit" and is_ours:
        return {KEY_VARIABLE: _inherited_key(setup.user_home)}
    raise LoginMissing(
        f"codex needs an API key in {needed}: `--env {needed}` hands on the value you have set"
    )


def _inherited_key(user_home: Path) -> str:
    auth = _read_auth(user_home / _USER_HOME)
    if found := _key_in(auth):
        return found
    if auth.get("tokens"):
        raise LoginMissing(
            "your codex login is one with ChatGPT, and an agent that used a copy of it would log you out: "
            f"give the agent an API key, `--env {KEY_VARIABLE}`, or keep one for all: `{_GET_IT}`"
        )
    raise LoginMissing(
        f"codex is not logged in: `{_GET_IT}` keeps an API key for all agents, "
        f"`--env {KEY_VARIABLE}` gives one to this agent"
    )


def _is_logged_in(home: Path) -> bool:
    """Whether a home that was prepared elsewhere has a login of its own."""
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
    """The address in the identity token, which nobody checks here: it is only shown."""
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

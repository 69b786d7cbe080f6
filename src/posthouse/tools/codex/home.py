"""Codex's config home: `config.toml` and `hooks.json`, so that nothing waits for a person.

What stands there already is kept; the settings that we depend on are set. A home that was prepared elsewhere
may bring its own model provider and login.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.errors import Conflict, InvalidInput
from posthouse.support import files, locks, untrusted_files
from posthouse.tools.codex import hooks, login, toml
from posthouse.tools.tool import Setup

CONFIG_FILE = "config.toml"
#: Codex has no variable for the address of its API; this one becomes configuration.
BASE_URL_VARIABLE = "OPENAI_BASE_URL"
PROVIDER = "posthouse"
_API = "https://api.openai.com/v1"
_TEMPORARY = Path("/tmp")
_LOCK_SECONDS = 5.0
_MAX_BYTES = 1 << 20
#: What the screen is read by, and what would ask the person or the network at a start.
_FORCED: Mapping[str, Any] = {
    "check_for_update_on_startup": False,
    "analytics": {"enabled": False},
    "tui": {
        "terminal_title": ["activity", "project"],
        "status_line": ["model-with-reasoning", "current-dir"],
        "animations": True,
        "show_tooltips": False,
    },
}


class BadHome(InvalidInput):
    """Codex can't work with a config home there; nothing was written."""

    code = "bad_home"


class BadConfig(Conflict):
    """The home's configuration can't be read; nothing was changed."""

    code = "bad_config"


def check(setup: Setup) -> None:
    """Look at what is there, and change nothing.

    Raises:
        BadHome: The home lies where codex's sandbox breaks.
        BadConfig: What stands in it can't be read.
        LoginMissing: The agent would have no account.
    """
    _require_place(setup)
    config = _read_config(setup.home)
    _read_hooks(setup.home)
    login.key(setup, _key_variable(config))


def prepare(setup: Setup) -> dict[str, str]:
    """Make the home ready; returns the variable of its login. A second call changes nothing.

    Raises:
        BadHome, BadConfig, LoginMissing: As `check`.
    """
    _require_place(setup)
    # Codex follows links before it looks for the trust of its hooks.
    home = files.private_folder(setup.home).resolve()
    with locks.hold(home / ".posthouse.lock", wait_seconds=_LOCK_SECONDS):
        config, hooked = _read_config(home), _read_hooks(home)
        key = login.key(setup, _key_variable(config))
        wanted_hooks = hooks.merged(hooked, setup.spool)
        trusted = hooks.trust(wanted_hooks, home / hooks.FILE)
        wanted = _prepared(config, setup, trusted, has_key=bool(key))
        # Trust before what is trusted: a hook without it would open a dialog.
        if wanted != config:
            files.write_whole(home / CONFIG_FILE, toml.dumps(wanted).encode(), durable=True)
        if wanted_hooks != hooked and (hooked or wanted_hooks["hooks"]):
            files.write_json(home / hooks.FILE, wanted_hooks, durable=True)
    return key


def _prepared(
    config: Mapping[str, Any], setup: Setup, trusted: Mapping[str, Any], *, has_key: bool
) -> dict[str, Any]:
    folders = {str(setup.working_directory), str(setup.working_directory.resolve())}
    wanted = _merged(config, _FORCED)
    wanted = _merged(wanted, {"projects": {folder: {"trust_level": "trusted"} for folder in sorted(folders)}})
    if trusted:
        wanted = _merged(wanted, {"hooks": {"state": trusted}})
    if config.get("model_provider") in (None, PROVIDER):
        wanted = _merged(wanted, _provider(_address(setup), has_key=has_key))
    return wanted


def _provider(address: str | None, *, has_key: bool) -> dict[str, Any]:
    """A model provider that takes the key from its variable; none where there is neither key nor address.

    The built-in one would do for `exec` alone: the TUI asks for a sign-in in spite of the variable.
    """
    if not address and not has_key:
        return {}
    provider = {"name": "OpenAI API", "base_url": address or _API, "wire_api": "responses"}
    if has_key:
        provider["env_key"] = login.KEY_VARIABLE
    return {"model_provider": PROVIDER, "model_providers": {PROVIDER: provider}}


def _address(setup: Setup) -> str | None:
    """Where the variables say that the API is; a key of the person's own login is for its maker alone."""
    is_inherited = setup.login == "inherit" and not setup.variables.get(login.KEY_VARIABLE)
    return None if is_inherited else setup.variables.get(BASE_URL_VARIABLE)


def _key_variable(config: Mapping[str, Any]) -> str:
    """The variable that the home's own model provider takes its key from, else ours."""
    providers, chosen = config.get("model_providers"), config.get("model_provider")
    provider = providers.get(chosen) if isinstance(providers, Mapping) else None
    named = provider.get("env_key") if isinstance(provider, Mapping) else None
    return named if isinstance(named, str) else login.KEY_VARIABLE


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """*base* with what *over* says, table by table."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(value, Mapping):
            result[key] = _merged(below if isinstance(below, Mapping) else {}, value)
        else:
            result[key] = value
    return result


def _require_place(setup: Setup) -> None:
    if setup.home.resolve().is_relative_to(_TEMPORARY):
        raise BadHome(
            f"codex can't have its config home {setup.home} under {_TEMPORARY}, where its sandbox breaks and "
            "commands fail without a word: put the runtime root (HOUMAO_GLOBAL_RUNTIME_DIR) elsewhere"
        )


def _read_config(home: Path) -> dict[str, Any]:
    content = _content(home / CONFIG_FILE)
    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        raise BadConfig(f"{home / CONFIG_FILE} is nested too deeply: repair or remove it") from None
    except ValueError as error:
        raise BadConfig(f"{home / CONFIG_FILE} is no TOML ({error}): repair or remove it") from error


def _read_hooks(home: Path) -> dict[str, Any]:
    content = _content(home / hooks.FILE)
    try:
        found = untrusted_files.decode_json(content or b"{}")
    except ValueError as error:
        raise BadConfig(f"{home / hooks.FILE} is no JSON ({error}): repair or remove it") from error
    if not isinstance(found, dict):
        raise BadConfig(f"{home / hooks.FILE} is no JSON object: repair or remove it")
    return found


def _content(path: Path) -> bytes:
    """What *path* holds; nothing when it is not there."""
    try:
        with untrusted_files.open_file(path, follow=True) as stream:
            content = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise BadConfig(f"{path} can't be read ({error.strerror}): repair or remove it") from error
    if len(content) > _MAX_BYTES:
        raise BadConfig(f"{path} is longer than {_MAX_BYTES} bytes: repair or remove it")
    return content

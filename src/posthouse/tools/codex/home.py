"""Prepares Codex's config home, `config.toml` and `hooks.json`, so that no dialog needs user input.

Existing content is kept; the settings that we depend on are set. A home prepared elsewhere may have another
model provider and login.
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
#: Codex has no variable for its API endpoint; this one is written to the configuration.
BASE_URL_VARIABLE = "OPENAI_BASE_URL"
PROVIDER = "posthouse"
_OPENAI_API = "https://api.openai.com/v1"
_TEMPORARY_FOLDER = Path("/tmp")
_LOCK_SECONDS = 5.0
_MAX_BYTES = 1 << 20
#: What screen reading depends on, and what would otherwise prompt the user or use the network at a start.
_REQUIRED_SETTINGS: Mapping[str, Any] = {
    "check_for_update_on_startup": False,
    "analytics": {"enabled": False},
    "tui": {
        "terminal_title": ["activity", "project"],
        "status_line": ["model-with-reasoning", "current-dir"],
        "animations": True,
        "show_tooltips": False,
    },
}


def check(setup: Setup) -> None:
    """Check that `prepare` can succeed. Writes nothing.

    Raises:
        InvalidInput: The home is where codex's sandbox breaks, or the agent would have no account.
        Conflict: The configuration can't be read.
    """
    _require_supported_location(setup)
    config = _read_config(setup.home)
    _read_hooks(setup.home)
    login.key(setup, _key_variable(config))


def prepare(setup: Setup) -> dict[str, str]:
    """Configure the home. Idempotent. Returns the variable of its login.

    Raises:
        InvalidInput, Conflict: As `check`.
    """
    _require_supported_location(setup)
    # Codex resolves links before it looks up the trust of its hooks.
    home = files.private_folder(setup.home).resolve()
    with locks.hold(home / ".posthouse.lock", wait_seconds=_LOCK_SECONDS):
        config, hooked = _read_config(home), _read_hooks(home)
        key = login.key(setup, _key_variable(config))
        wanted_hooks = hooks.merge_hooks(hooked, setup.spool)
        trusted = hooks.trust(wanted_hooks, home / hooks.FILE)
        wanted = _prepare_config(config, setup, trusted, has_key=bool(key))
        # Trust is written before the hooks: an untrusted hook would open a dialog.
        if wanted != config:
            files.write_whole(home / CONFIG_FILE, toml.dumps(wanted).encode(), durable=True)
        if wanted_hooks != hooked and (hooked or wanted_hooks["hooks"]):
            files.write_json(home / hooks.FILE, wanted_hooks, durable=True)
    return key


def _prepare_config(
    config: Mapping[str, Any], setup: Setup, trusted: Mapping[str, Any], *, has_key: bool
) -> dict[str, Any]:
    folders = {str(setup.working_directory), str(setup.working_directory.resolve())}
    wanted = _merge(config, _REQUIRED_SETTINGS)
    wanted = _merge(wanted, {"projects": {folder: {"trust_level": "trusted"} for folder in sorted(folders)}})
    if trusted:
        wanted = _merge(wanted, {"hooks": {"state": trusted}})
    if config.get("model_provider") in (None, PROVIDER):
        wanted = _merge(wanted, _provider(_base_url(setup), has_key=has_key))
    return wanted


def _provider(base_url: str | None, *, has_key: bool) -> dict[str, Any]:
    """A model provider that reads the key from its variable; empty without key and base URL.

    The built-in provider works for `exec` only: the TUI asks for a sign-in despite the variable.
    """
    if not base_url and not has_key:
        return {}
    provider = {"name": "OpenAI API", "base_url": base_url or _OPENAI_API, "wire_api": "responses"}
    if has_key:
        provider["env_key"] = login.KEY_VARIABLE
    return {"model_provider": PROVIDER, "model_providers": {PROVIDER: provider}}


def _base_url(setup: Setup) -> str | None:
    """The API endpoint in the variables. A key of the user's own login is sent to OpenAI only."""
    is_inherited = setup.login == "inherit" and not setup.variables.get(login.KEY_VARIABLE)
    return None if is_inherited else setup.variables.get(BASE_URL_VARIABLE)


def _key_variable(config: Mapping[str, Any]) -> str:
    """The variable from which the home's model provider reads its key, else the default."""
    providers, chosen = config.get("model_providers"), config.get("model_provider")
    provider = providers.get(chosen) if isinstance(providers, Mapping) else None
    named = provider.get("env_key") if isinstance(provider, Mapping) else None
    return named if isinstance(named, str) else login.KEY_VARIABLE


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """*base* updated with *over*, recursively for tables."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(value, Mapping):
            result[key] = _merge(below if isinstance(below, Mapping) else {}, value)
        else:
            result[key] = value
    return result


def _require_supported_location(setup: Setup) -> None:
    if setup.home.resolve().is_relative_to(_TEMPORARY_FOLDER):
        raise InvalidInput(
            f"codex can't use the config home {setup.home} under {_TEMPORARY_FOLDER}, where its sandbox "
            "breaks and commands fail silently: put the runtime root (HOUMAO_GLOBAL_RUNTIME_DIR) elsewhere",
            code="bad_home",
        )


def _read_config(home: Path) -> dict[str, Any]:
    content = _read_bytes(home / CONFIG_FILE)
    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        raise _bad_config(f"{home / CONFIG_FILE} is nested too deeply: repair or remove it") from None
    except ValueError as error:
        raise _bad_config(f"{home / CONFIG_FILE} is not valid TOML ({error}): repair or remove it") from error


def _read_hooks(home: Path) -> dict[str, Any]:
    content = _read_bytes(home / hooks.FILE)
    try:
        found = untrusted_files.decode_json(content or b"{}")
    except ValueError as error:
        raise _bad_config(f"{home / hooks.FILE} is not valid JSON ({error}): repair or remove it") from error
    if not isinstance(found, dict):
        raise _bad_config(f"{home / hooks.FILE} is not a JSON object: repair or remove it")
    return found


def _read_bytes(path: Path) -> bytes:
    """The content of *path*; empty if there is no such file."""
    try:
        with untrusted_files.open_file(path, follow=True) as stream:
            content = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise _bad_config(f"{path} can't be read ({error.strerror}): repair or remove it") from error
    if len(content) > _MAX_BYTES:
        raise _bad_config(f"{path} exceeds {_MAX_BYTES} bytes: repair or remove it")
    return content


def _bad_config(message: str) -> Conflict:
    return Conflict(message, code="bad_config")

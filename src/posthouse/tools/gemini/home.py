"""Prepares the agent's config home: no onboarding, no dialogs, status titles, reporting hooks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.support import files, locks
from posthouse.tools import settings as settings_files
from posthouse.tools import spool
from posthouse.tools.gemini import login, thinking
from posthouse.tools.tool import Setup, TurnSignal

HOME_VARIABLE = "GEMINI_CLI_HOME"
#: The reporting hooks and their turn events. AfterAgent also fires after an interruption or an API error.
TURN_SIGNALS: Mapping[str, TurnSignal] = {
    "BeforeAgent": "submitted",
    "AfterAgent": "ended",
    "Notification": "asking",
}
_HOOK_NAME = "posthouse"
_HOOK_MILLISECONDS = 5000
#: Empty output is fine too, but anything that is not JSON would be displayed.
_HOOK_ANSWER = "{}"
_LOCK_SECONDS = 5.0


def environment(home: Path) -> dict[str, str]:
    """The environment of every start of the program."""
    return {
        HOME_VARIABLE: str(home),
        # Otherwise it relaunches itself, and the parent ignores signals and survives its terminal.
        "GEMINI_CLI_NO_RELAUNCH": "true",
        # Otherwise the composer has no frame and a warning above it.
        "COLORTERM": "truecolor",
        # A launch implies trust in its folder; the dialog would swallow the first prompt.
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def prepare(setup: Setup) -> Mapping[str, str]:
    """Configure the home. Idempotent. Returns the variables that the login adds.

    Raises:
        BadSettings: The home's settings are not a JSON object.
        InvalidInput: The agent would have no account.
    """
    added = login.login_variables(setup)
    folder = files.private_folder(setup.home / ".gemini")
    with locks.hold(folder / ".posthouse.lock", wait_seconds=_LOCK_SECONDS):
        settings = read_settings(setup.home)
        wanted = _prepare_settings(settings, setup, login.auth_type({**setup.variables, **added}))
        if wanted != settings:
            files.write_json(folder / "settings.json", wanted, durable=True)
    return added


def read_settings(home: Path) -> dict[str, Any]:
    """The home's settings; empty if there are none.

    Raises:
        BadSettings: They are not a JSON object.
    """
    return settings_files.read(home / ".gemini" / "settings.json")


def _prepare_settings(settings: Mapping[str, Any], setup: Setup, auth_type: str) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": auth_type}},
        # The banner distinguishes a running program from its first frame.
        "ui": {"dynamicWindowTitle": True, "hideBanner": False, "hideWindowTitle": False},
        "modelConfigs": {"customOverrides": _overrides(settings)},
    }
    if setup.spool is not None:
        wanted["hooksConfig"] = {"enabled": True, "notifications": False}
        wanted["hooks"] = {event: _hooks(settings, setup.spool, event) for event in TURN_SIGNALS}
    return _merge(settings, wanted)


def _overrides(settings: Mapping[str, Any]) -> list[Any]:
    kept = _section(settings, "modelConfigs").get("customOverrides")
    others = (
        [override for override in kept if not thinking.is_ours(override)] if isinstance(kept, list) else []
    )
    return [*others, *thinking.overrides()]


def _hooks(settings: Mapping[str, Any], folder: Path, event: str) -> list[Any]:
    """The event's hooks, with ours exactly once."""
    kept = _section(settings, "hooks").get(event)
    others = [group for group in kept if not _is_ours(group)] if isinstance(kept, list) else []
    ours = {
        "type": "command",
        "name": _HOOK_NAME,
        "command": spool.command(folder, event, answer=_HOOK_ANSWER),
        "timeout": _HOOK_MILLISECONDS,
    }
    return [*others, {"hooks": [ours]}]


def _is_ours(group: object) -> bool:
    hooks = group.get("hooks") if isinstance(group, Mapping) else None
    return isinstance(hooks, list) and any(
        isinstance(hook, Mapping) and hook.get("name") == _HOOK_NAME for hook in hooks
    )


def _section(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, Mapping) else {}


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """*base* updated with *over*, recursively for objects."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = _merge(old, value)
        merged[key] = value
    return merged

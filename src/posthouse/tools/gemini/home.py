"""The agent's own config home: no onboarding, no dialog, titles that tell, hooks that report in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.support import files, locks
from posthouse.tools import settings as settings_files
from posthouse.tools import spool
from posthouse.tools.gemini import login, thinking
from posthouse.tools.tool import Meaning, Setup

HOME_VARIABLE = "GEMINI_CLI_HOME"
#: The hooks that report in, and what they mean for the turn. The CLI also says AfterAgent when a turn was
#: interrupted or the API refused it.
MEANINGS: Mapping[str, Meaning] = {
    "BeforeAgent": "submitted",
    "AfterAgent": "ended",
    "Notification": "asking",
}
_HOOK_NAME = "posthouse"
_HOOK_MILLISECONDS = 5000
#: Silence is fine, but anything that is no JSON would be shown to the person.
_HOOK_ANSWER = "{}"
_LOCK_SECONDS = 5.0


def environment(home: Path) -> dict[str, str]:
    """What every start of the program is given."""
    return {
        HOME_VARIABLE: str(home),
        # Otherwise it starts itself a second time, and the first ignores signals and survives its terminal.
        "GEMINI_CLI_NO_RELAUNCH": "true",
        # Without it the composer has no frame, and a warning stands above it.
        "COLORTERM": "truecolor",
        # Whoever launches an agent somewhere trusts the folder; the dialog would eat the first prompt.
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def prepare(setup: Setup) -> Mapping[str, str]:
    """Make the home ready; what the login adds to the program's variables. A second call changes nothing.

    Raises:
        BadSettings: The home has settings that are not a JSON object.
        LoginMissing: The agent would have no account.
    """
    added = login.inherited(setup)
    folder = files.private_folder(setup.home / ".gemini")
    with locks.hold(folder / ".posthouse.lock", wait_seconds=_LOCK_SECONDS):
        settings = read_settings(setup.home)
        wanted = _prepared(settings, setup, login.auth_type({**setup.variables, **added}))
        if wanted != settings:
            files.write_json(folder / "settings.json", wanted, durable=True)
    return added


def read_settings(home: Path) -> dict[str, Any]:
    """The home's settings; empty when there are none.

    Raises:
        BadSettings: They are not a JSON object.
    """
    return settings_files.read(home / ".gemini" / "settings.json")


def _prepared(settings: Mapping[str, Any], setup: Setup, auth_type: str) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": auth_type}},
        # The banner is how a program that is up is told from its first picture.
        "ui": {"dynamicWindowTitle": True, "hideBanner": False, "hideWindowTitle": False},
        "modelConfigs": {"customOverrides": _overrides(settings)},
    }
    if setup.spool is not None:
        wanted["hooksConfig"] = {"enabled": True, "notifications": False}
        wanted["hooks"] = {event: _hooks(settings, setup.spool, event) for event in MEANINGS}
    return _merged(settings, wanted)


def _overrides(settings: Mapping[str, Any]) -> list[Any]:
    kept = _section(settings, "modelConfigs").get("customOverrides")
    others = (
        [override for override in kept if not thinking.is_ours(override)] if isinstance(kept, list) else []
    )
    return [*others, *thinking.overrides()]


def _hooks(settings: Mapping[str, Any], folder: Path, event: str) -> list[Any]:
    """The event's hooks with ours, once."""
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


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """*base* with *over* laid upon it, objects key by key."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = _merged(old, value)
        merged[key] = value
    return merged

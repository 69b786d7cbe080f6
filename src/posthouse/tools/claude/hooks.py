"""Claude Code's hooks that report turn events, and their entries in the settings. Pure.

None of them fires after Escape.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.tools import spool
from posthouse.tools.tool import TurnSignal

TURN_SIGNALS: Mapping[str, TurnSignal] = {
    "UserPromptSubmit": "submitted",
    "Stop": "ended",
    "StopFailure": "failed",
    "PermissionRequest": "asking",
}
#: Some versions treat an empty answer of a PermissionRequest hook as a denial. This means no decision.
_NO_DECISION = "{}"
#: The CLI waits for its hooks. Writing one file takes far less, and a hung disk must not hang the agent.
_TIMEOUT_SECONDS = 10
_ANY_FOLDER = Path("/any-folder")


def merge_hooks(hooks: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """*hooks* with ours replaced by hooks that report to *folder* (None: without ours)."""
    kept = {event: _other_hooks(event, entries) for event, entries in hooks.items()}
    ours = {event: [_entry(folder, event)] for event in TURN_SIGNALS} if folder else {}
    merged = {event: [*kept.get(event, []), *ours.get(event, [])] for event in {**kept, **ours}}
    return {event: entries for event, entries in merged.items() if entries}


def _entry(folder: Path, event: str) -> dict[str, Any]:
    command = {"type": "command", "command": _command(folder, event), "timeout": _TIMEOUT_SECONDS}
    return {"hooks": [command]}


def _command(folder: Path, event: str) -> str:
    return spool.command(folder, event, answer=_NO_DECISION if event == "PermissionRequest" else "")


def _other_hooks(event: str, entries: object) -> list[Any]:
    return [each for each in entries if not _is_ours(event, each)] if isinstance(entries, list) else []


def _is_ours(event: str, entry: object) -> bool:
    """Whether *entry* is one of ours, for any folder."""
    before, _, after = _command(_ANY_FOLDER, event).partition(str(_ANY_FOLDER))
    commands = entry.get("hooks") if isinstance(entry, Mapping) else None
    command = commands[0].get("command") if isinstance(commands, list) and commands else None
    return isinstance(command, str) and command.startswith(before) and command.endswith(after)

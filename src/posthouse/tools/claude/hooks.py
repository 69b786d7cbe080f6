"""Claude Code's hooks, as far as they report a turn: which events, and their entries in the settings. Pure.

None of them fires after Escape.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.tools import spool
from posthouse.tools.tool import Meaning

MEANINGS: Mapping[str, Meaning] = {
    "UserPromptSubmit": "submitted",
    "Stop": "ended",
    "StopFailure": "failed",
    "PermissionRequest": "asking",
}
#: Some versions take a silent PermissionRequest hook for a denial. This says that nothing was decided.
_NO_DECISION = "{}"
#: The CLI waits for its hooks. Writing one file takes far less, and a frozen disk must not freeze the agent.
_TIMEOUT_SECONDS = 10
_ANY_FOLDER = Path("/any-folder")


def reporting(hooks: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """*hooks* with ours, which report to *folder* (None: no reports), instead of an earlier launch's."""
    kept = {event: _foreign(event, entries) for event, entries in hooks.items()}
    ours = {event: [_entry(folder, event)] for event in MEANINGS} if folder else {}
    merged = {event: [*kept.get(event, []), *ours.get(event, [])] for event in {**kept, **ours}}
    return {event: entries for event, entries in merged.items() if entries}


def _entry(folder: Path, event: str) -> dict[str, Any]:
    command = {"type": "command", "command": _command(folder, event), "timeout": _TIMEOUT_SECONDS}
    return {"hooks": [command]}


def _command(folder: Path, event: str) -> str:
    return spool.command(folder, event, answer=_NO_DECISION if event == "PermissionRequest" else "")


def _foreign(event: str, entries: object) -> list[Any]:
    return [each for each in entries if not _is_ours(event, each)] if isinstance(entries, list) else []


def _is_ours(event: str, entry: object) -> bool:
    """Whether *entry* is one of ours, whichever folder it reports to."""
    before, _, after = _command(_ANY_FOLDER, event).partition(str(_ANY_FOLDER))
    commands = entry.get("hooks") if isinstance(entry, Mapping) else None
    command = commands[0].get("command") if isinstance(commands, list) and commands else None
    return isinstance(command, str) and command.startswith(before) and command.endswith(after)

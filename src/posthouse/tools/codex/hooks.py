"""Codex's hooks that report to the session's spool, and the trust entries that they need to run. Pure.

`codex exec` silently skips an untrusted hook, and the TUI opens a dialog that swallows the first prompt.
Trust is the hash of the hook, stored in the configuration under its position in `hooks.json`.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.tools import spool
from posthouse.tools.tool import TurnSignal

FILE = "hooks.json"
#: By event name in `hooks.json`. None of them fires after Escape or an API error.
TURN_SIGNALS: Mapping[str, TurnSignal] = {
    "UserPromptSubmit": "submitted",
    "Stop": "ended",
    "PermissionRequest": "asking",
}
#: The event names in the trust keys and hashes.
_TRUST_EVENT_NAMES = {
    "UserPromptSubmit": "user_prompt_submit",
    "Stop": "stop",
    "PermissionRequest": "permission_request",
}
#: The agent waits for its hooks, and the disk may hang.
_TIMEOUT_SECONDS = 10


def merge_hooks(settings: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """The content of `hooks.json`: *settings* with our hooks reporting to *folder* (None: without)."""
    listed = settings.get("hooks")
    events: dict[str, Any] = dict(listed) if isinstance(listed, Mapping) else {}
    for event in TURN_SIGNALS:
        groups = events.pop(event, [])
        kept = [group for group in groups if not _is_ours(group)] if isinstance(groups, list) else []
        ours = [{"hooks": [_hook(folder, event)]}] if folder else []
        if kept or ours:
            # Ours come last: trust of the others depends on their position.
            events[event] = [*kept, *ours]
    return {**settings, "hooks": events}


def trust(settings: Mapping[str, Any], path: Path) -> dict[str, dict[str, str]]:
    """The configuration's `hooks.state` for our hooks in *settings*, read from *path*."""
    return {
        f"{path}:{_TRUST_EVENT_NAMES[event]}:{position}:0": {
            "trusted_hash": hash_of(event, group["hooks"][0])
        }
        for event in TURN_SIGNALS
        for position, group in enumerate(settings["hooks"].get(event, []))
        if _is_ours(group)
    }


def _hook(folder: Path, event: str) -> dict[str, Any]:
    return {"type": "command", "command": spool.command(folder, event), "timeout": _TIMEOUT_SECONDS}


def _is_ours(group: object) -> bool:
    """Whether *group* reports to a spool, of this or an earlier session with the same home."""
    hooks = group.get("hooks") if isinstance(group, Mapping) else None
    if not isinstance(hooks, list) or len(hooks) != 1 or not isinstance(hooks[0], Mapping):
        return False
    return spool.is_report(hooks[0].get("command"))


def hash_of(event: str, hook: Mapping[str, Any]) -> str:
    """The hash that codex computes: of the hook with all defaults filled in."""
    whole = {"event_name": _TRUST_EVENT_NAMES[event], "hooks": [{"async": False, **hook}]}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

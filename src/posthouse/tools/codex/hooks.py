"""Codex's hooks: those that report to the session's spool, and the trust without which they don't run. Pure.

A hook that is not trusted is skipped without a word by `codex exec`, and opens a dialog in the TUI that would
eat the first prompt. Trust is the hash of the hook, kept in the configuration by its place in `hooks.json`.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.tools import spool
from posthouse.tools.tool import Meaning

FILE = "hooks.json"
#: By their names in `hooks.json`. None of them comes after Escape or an error of the API.
MEANINGS: Mapping[str, Meaning] = {
    "UserPromptSubmit": "submitted",
    "Stop": "ended",
    "PermissionRequest": "asking",
}
#: By their names in the configuration's places and hashes.
_TRUSTED_AS = {
    "UserPromptSubmit": "user_prompt_submit",
    "Stop": "stop",
    "PermissionRequest": "permission_request",
}
#: The agent waits for its hooks, and a disk may hang.
_TIMEOUT_SECONDS = 10


def merged(settings: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """The content of `hooks.json`: *settings* with our hooks reporting to *folder*, or with none of ours."""
    listed = settings.get("hooks")
    events: dict[str, Any] = dict(listed) if isinstance(listed, Mapping) else {}
    for event in MEANINGS:
        groups = events.pop(event, [])
        kept = [group for group in groups if not _is_ours(group)] if isinstance(groups, list) else []
        ours = [{"hooks": [_hook(folder, event)]}] if folder else []
        if kept or ours:
            # Ours at the end: the trust of the others goes by their place.
            events[event] = [*kept, *ours]
    return {**settings, "hooks": events}


def trust(settings: Mapping[str, Any], path: Path) -> dict[str, dict[str, str]]:
    """The configuration's `hooks.state` for our hooks in *settings*, the content of the file at *path*."""
    return {
        f"{path}:{_TRUSTED_AS[event]}:{place}:0": {"trusted_hash": hash_of(event, group["hooks"][0])}
        for event in MEANINGS
        for place, group in enumerate(settings["hooks"].get(event, []))
        if _is_ours(group)
    }


def _hook(folder: Path, event: str) -> dict[str, Any]:
    return {"type": "command", "command": spool.command(folder, event), "timeout": _TIMEOUT_SECONDS}


def _is_ours(group: object) -> bool:
    """Whether it reports to a spool, of this session or of an earlier one with the same home."""
    hooks = group.get("hooks") if isinstance(group, Mapping) else None
    if not isinstance(hooks, list) or len(hooks) != 1 or not isinstance(hooks[0], Mapping):
        return False
    return spool.is_report(hooks[0].get("command"))


def hash_of(event: str, hook: Mapping[str, Any]) -> str:
    """The hash as codex makes it: of the hook with every default filled in."""
    whole = {"event_name": _TRUSTED_AS[event], "hooks": [{"async": False, **hook}]}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

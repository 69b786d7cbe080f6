"""What gateways believe of their TUIs, in words for people."""

from collections.abc import Mapping
from typing import Any

from posthouse.cli.output import Cell, Tone
from posthouse.contracts import gateway_files as gf
from posthouse.sessions.session import Session
from posthouse.support import untrusted_files

_TONES: dict[str, Tone] = {
    "ready": "good",
    "draft": "good",
    "active": "busy",
    "queued": "busy",
    "blocked": "bad",
    "limited": "bad",
}
_MAX_BYTES = 1 << 16


def left_on_disk(found: Session) -> dict[str, Any] | None:
    """What the session's gateway last wrote; None when it wrote nothing. Asks nobody."""
    try:
        with untrusted_files.open_file(found.gateway_root / gf.TUI) as stream:
            content = untrusted_files.decode_json(stream.read(_MAX_BYTES))
    except (OSError, ValueError):  # no gateway, or one that is just being replaced
        return None
    return content if isinstance(content, dict) else None


def cell(belief: Mapping[str, Any]) -> Cell:
    """The state in a few words: `blocked: permission`, `limited until …`."""
    state = str(belief.get("state", "unknown"))
    return Cell(in_words(belief), _TONES.get(state))


def in_words(belief: Mapping[str, Any]) -> str:
    """The state with what matters about it."""
    state = str(belief.get("state", "unknown"))
    if state == "blocked" and (dialog := _dialog_of(belief)):
        return f"blocked: {dialog}"
    if state == "limited" and (until := belief.get("resets_at_utc")):
        return f"limited until {until}"
    return state


def choices_of(belief: Mapping[str, Any]) -> list[str]:
    """What the open dialog offers, one line each; the marked one begins with an arrow."""
    dialog = belief.get("dialog")
    entries = dialog["choices"] if isinstance(dialog, Mapping) else []
    return [
        f"{'>' if one['selected'] else ' '} "
        + (f"{one['number']}. " if one["number"] is not None else "")
        + str(one["label"])
        for one in entries
    ]


def _dialog_of(belief: Mapping[str, Any]) -> str:
    dialog = belief.get("dialog")
    name = dialog.get("name") if isinstance(dialog, Mapping) else dialog
    return str(name) if name else ""

"""Shows the TUI state that a gateway has inferred, as text."""

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


def read_saved(session: Session) -> dict[str, Any] | None:
    """The TUI state that the session's gateway last saved, or None. Reads a file, without a request."""
    try:
        with untrusted_files.open_file(session.gateway_root / gf.TUI) as stream:
            content = untrusted_files.decode_json(stream.read(_MAX_BYTES))
    except (OSError, ValueError):  # no gateway, or the file is being replaced
        return None
    return content if isinstance(content, dict) else None


def cell(tui: Mapping[str, Any]) -> Cell:
    """The state in a few words: `blocked: permission`, `limited until …`."""
    state = str(tui.get("state", "unknown"))
    return Cell(describe(tui), _TONES.get(state))


def describe(tui: Mapping[str, Any]) -> str:
    """The state with its dialog or its reset time."""
    state = str(tui.get("state", "unknown"))
    if state == "blocked" and (dialog := _dialog_name(tui)):
        return f"blocked: {dialog}"
    if state == "limited" and (until := tui.get("resets_at_utc")):
        return f"limited until {until}"
    return state


def choices_of(tui: Mapping[str, Any]) -> list[str]:
    """The choices of the open dialog, one line each; the selected one starts with `>`."""
    dialog = tui.get("dialog")
    entries = dialog["choices"] if isinstance(dialog, Mapping) else []
    return [
        f"{'>' if one['selected'] else ' '} "
        + (f"{one['number']}. " if one["number"] is not None else "")
        + str(one["label"])
        for one in entries
    ]


def _dialog_name(tui: Mapping[str, Any]) -> str:
    dialog = tui.get("dialog")
    name = dialog.get("name") if isinstance(dialog, Mapping) else dialog
    return str(name) if name else ""

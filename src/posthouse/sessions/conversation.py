"""Which provider conversation a session continues: the pinned one, and the selection of the first."""

from typing import Literal

from msgspec.structs import replace

from posthouse.contracts.manifest import Headless, Manifest
from posthouse.tools.tool import Chat

StartMode = Literal["new", "tool_last_or_new", "exact"]


def with_headless(manifest: Manifest, headless: Headless) -> Manifest:
    """*manifest* with *headless*, mirrored in `backend_state` for other readers."""
    mirrored = {
        "session_id": headless.session_id,
        "turn_index": headless.turn_index,
        "role_bootstrap_applied": headless.role_bootstrap_applied,
        "resume_selection_kind": headless.resume_selection_kind,
        "resume_selection_value": headless.resume_selection_value,
    }
    return replace(manifest, headless=headless, backend_state={**manifest.backend_state, **mirrored})


def after_turn(manifest: Manifest, *, turn_index: int, chat_id: str | None) -> Manifest:
    """*manifest* after a turn: its index updated, and its chat pinned if known.

    A turn whose end is detected after a later one began pins nothing.
    """
    headless = manifest.headless
    if headless is None:
        raise ValueError(f"backend {manifest.backend} has no headless turns")
    is_latest = turn_index >= headless.turn_index
    return with_headless(
        manifest,
        replace(
            headless,
            turn_index=max(headless.turn_index, turn_index),
            session_id=(chat_id if is_latest else None) or headless.session_id,
            role_bootstrap_applied=True,
        ),
    )


def restarted(manifest: Manifest, mode: StartMode, chat_id: str | None) -> Manifest:
    """*manifest* so that the next headless turn starts from *mode* instead of the pinned chat."""
    headless = manifest.headless
    if headless is None:
        return manifest
    return with_headless(
        manifest,
        replace(
            headless,
            session_id=None,
            resume_selection_kind={"new": "none", "tool_last_or_new": "last", "exact": "exact"}[mode],
            resume_selection_value=chat_id,
        ),
    )


def next_chat(headless: Headless) -> Chat:
    """The default chat of a turn: the pinned one, else the startup selection, else a new one."""
    if headless.session_id is not None:
        return Chat(mode="exact", id=headless.session_id)
    if headless.resume_selection_kind == "exact":
        return Chat(mode="exact", id=headless.resume_selection_value)
    return Chat(mode="latest" if headless.resume_selection_kind == "last" else "new")


def start_chat(mode: StartMode | None, chat_id: str | None) -> Chat:
    """The chat that a TUI starts with; None continues the latest."""
    if mode == "exact" or mode == "new":
        return Chat(mode=mode, id=chat_id)
    return Chat(mode="latest")

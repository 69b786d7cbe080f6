"""Which conversation a headless agent's next prompt continues, as an HTTP response. Pure."""

from posthouse.contracts import gateway_control_http as wire
from posthouse.contracts.manifest import Headless


def chat_state(headless: Headless, *, starts_new: bool = False) -> wire.ChatState:
    """The manifest's state; *starts_new* adds the override that the next prompt starts a new conversation."""
    pinned = headless.session_id
    return wire.ChatState(
        current=None if pinned is None else wire.CurrentChat(id=pinned),
        startup_default=_startup(headless),
        next_prompt_override=wire.PromptOverride() if starts_new else None,
    )


def _startup(headless: Headless) -> wire.StartupChat:
    if headless.resume_selection_kind == "exact":
        return wire.StartupChat(mode="exact", id=headless.resume_selection_value)
    return wire.StartupChat(mode="tool_last_or_new" if headless.resume_selection_kind == "last" else "new")

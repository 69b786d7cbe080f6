"""Codex's command lines: the TUI and a headless turn. Pure.

Settings are `--config` overrides before the subcommand. Unlike flags, they can be repeated (the last one
wins) and every subcommand accepts them.
"""

import re

from posthouse.errors import InvalidInput
from posthouse.tools.codex import toml
from posthouse.tools.tool import Chat, HeadlessTurn, Launch, Permissions

EFFORTS = ("low", "medium", "high", "xhigh")
_NO_DAEMON = "--no-daemon"
#: The sandbox mode and the approval policy. Headless turns never ask for approval.
_SANDBOX: dict[Permissions, tuple[str, str]] = {
    "ask": ("read-only", "on-request"),
    "edits": ("workspace-write", "on-request"),
    "all": ("danger-full-access", "never"),
}
_CHAT_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)


def tui(executable: str, launch: Launch, chat: Chat) -> tuple[str, ...]:
    """The command line of the TUI, without the background server and updater that would outlive it.

    Raises:
        InvalidInput: The reasoning level or the conversation id is invalid.
    """
    return (
        executable,
        *(() if _NO_DAEMON in launch.args else (_NO_DAEMON,)),
        *_settings(launch, launch.model, launch.reasoning_level),
        *_resume(chat),
    )


def turn(executable: str, launch: Launch, order: HeadlessTurn) -> tuple[str, ...]:
    """One headless turn; the prompt is read from stdin.

    Raises:
        InvalidInput: The reasoning level or the conversation id is invalid.
    """
    level = launch.reasoning_level if order.reasoning_level is None else order.reasoning_level
    return (
        executable,
        *_settings(launch, order.model or launch.model, level),
        "exec",
        "--json",
        "--skip-git-repo-check",
        *_resume(order.chat),
        "-",
    )


def _settings(launch: Launch, model: str | None, level: int | None) -> tuple[str, ...]:
    """Our defaults, then the user's own arguments, which override them, then the requested settings."""
    sandbox, approval = _SANDBOX[launch.permissions]
    requested = []
    if launch.role_text:
        requested.append(_override("developer_instructions", launch.role_text))
    if model is not None:
        requested.append(_override("model", model))
    if level is not None:
        requested.append(_override("model_reasoning_effort", _effort(level)))
    return (
        _override("sandbox_mode", sandbox),
        _override("approval_policy", approval),
        *launch.args,
        *requested,
    )


def _override(key: str, text: str) -> str:
    return f"--config={key}={toml.value(text)}"


def _effort(level: int) -> str:
    """The effort for *level*, counted from 1; higher levels are clamped."""
    if level < 1:
        raise InvalidInput(
            f"codex has no reasoning level {level}: take 1 ({EFFORTS[0]}) to {len(EFFORTS)} ({EFFORTS[-1]})",
            code="bad_reasoning_level",
        )
    return EFFORTS[min(level, len(EFFORTS)) - 1]


def _resume(chat: Chat) -> tuple[str, ...]:
    if chat.mode == "latest":
        return ("resume", "--last")
    if chat.mode == "new":
        return ()
    if chat.id is None or not _CHAT_ID.match(chat.id):
        # Codex reads any other word as a conversation name, and starts a new conversation if it is unknown.
        raise InvalidInput(
            f"invalid codex conversation id {chat.id!r}: its ids are UUIDs, as reported by its turns",
            code="bad_chat_id",
        )
    return ("resume", chat.id)

"""Codex's command lines: the TUI's and that of a headless turn. Pure.

Settings go as `--config` overrides in front of any subcommand: they may be repeated, the last one counts, and
every subcommand takes them, which is true of no flag.
"""

import re

from posthouse.errors import InvalidInput
from posthouse.tools.codex import toml
from posthouse.tools.tool import Chat, Launch, Permissions, TurnOrder

EFFORTS = ("low", "medium", "high", "xhigh")
_NO_DAEMON = "--no-daemon"
#: What codex may do in its sandbox, and whether it asks for more. Headless turns never ask.
_SANDBOX: dict[Permissions, tuple[str, str]] = {
    "ask": ("read-only", "on-request"),
    "edits": ("workspace-write", "on-request"),
    "all": ("danger-full-access", "never"),
}
_CHAT_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)


class BadReasoningLevel(InvalidInput):
    """Codex always reasons; there is no such level."""

    code = "bad_reasoning_level"


class BadChatId(InvalidInput):
    """No conversation of codex has such an id."""

    code = "bad_chat_id"


def tui(executable: str, launch: Launch, chat: Chat) -> tuple[str, ...]:
    """The TUI, without the background server and updater that would outlive it.

    Raises:
        BadReasoningLevel, BadChatId: It can't be started as asked.
    """
    return (
        executable,
        *(() if _NO_DAEMON in launch.args else (_NO_DAEMON,)),
        *_settings(launch, launch.model, launch.reasoning_level),
        *_resume(chat),
    )


def turn(executable: str, launch: Launch, order: TurnOrder) -> tuple[str, ...]:
    """One headless turn; the prompt comes on stdin.

    Raises:
        BadReasoningLevel, BadChatId: It can't be run as asked.
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
    """Ours in front of the user's own arguments, which thereby win, and what was asked for behind them."""
    sandbox, approval = _SANDBOX[launch.permissions]
    asked = []
    if launch.role_text:
        asked.append(_override("developer_instructions", launch.role_text))
    if model is not None:
        asked.append(_override("model", model))
    if level is not None:
        asked.append(_override("model_reasoning_effort", _effort(level)))
    return (
        _override("sandbox_mode", sandbox),
        _override("approval_policy", approval),
        *launch.args,
        *asked,
    )


def _override(key: str, text: str) -> str:
    return f"--config={key}={toml.value(text)}"


def _effort(level: int) -> str:
    """The ladder's step; levels above it saturate."""
    if level < 1:
        raise BadReasoningLevel(
            f"codex has no reasoning level {level}: take 1 ({EFFORTS[0]}) to {len(EFFORTS)} ({EFFORTS[-1]})"
        )
    return EFFORTS[min(level, len(EFFORTS)) - 1]


def _resume(chat: Chat) -> tuple[str, ...]:
    if chat.mode == "latest":
        return ("resume", "--last")
    if chat.mode == "new":
        return ()
    if chat.id is None or not _CHAT_ID.match(chat.id):
        # Codex takes any other word for a conversation's name, and begins a new one when there is none.
        raise BadChatId(
            f"{chat.id!r} is no conversation of codex: its ids are UUIDs, as the turns report them"
        )
    return ("resume", chat.id)

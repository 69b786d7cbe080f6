"""Claude Code's command lines: the TUI's and that of a headless turn. Pure."""

from posthouse.errors import InvalidInput
from posthouse.tools.prompt_escaping import no_option
from posthouse.tools.tool import Chat, Launch, Permissions, TurnOrder

_EFFORTS = ("low", "medium", "high")
#: The one model with a rung above. Whoever wants another of the CLI's efforts gives it as an argument.
_MAX_MODEL = "opus-4-6"
_MODES: dict[Permissions, str] = {"ask": "default", "edits": "acceptEdits", "all": "bypassPermissions"}
_MODE_FLAG = "--permission-mode"
_SKIP_FLAG = "--dangerously-skip-permissions"


class BadReasoningLevel(InvalidInput):
    """Claude Code always reasons; there is no such level."""

    code = "bad_reasoning_level"


def tui(executable: str, launch: Launch, chat: Chat) -> tuple[str, ...]:
    """The TUI.

    Raises:
        BadReasoningLevel: There is no such level.
        LooksLikeOption: There is no such conversation.
    """
    return (executable, *_settings(launch, launch.model, launch.reasoning_level), *_chat(chat))


def turn(executable: str, launch: Launch, order: TurnOrder) -> tuple[str, ...]:
    """One headless turn; the prompt comes on stdin.

    Raises:
        BadReasoningLevel: There is no such level.
        LooksLikeOption: There is no such conversation.
    """
    level = launch.reasoning_level if order.reasoning_level is None else order.reasoning_level
    return (
        executable,
        *_settings(launch, order.model or launch.model, level),
        "-p",
        "--verbose",
        *_chat(order.chat),
        "--output-format",
        "stream-json",
    )


def _settings(launch: Launch, model: str | None, level: int | None) -> tuple[str, ...]:
    """The user's own arguments, and behind them what was asked for.

    Everything is said at every start: a conversation that is continued keeps neither the role nor the
    context window of its model.
    """
    return (
        *launch.args,
        *(("--model", model) if model is not None else ()),
        *(("--effort", effort(model, level)) if level is not None else ()),
        *_mode(launch),
        *(("--append-system-prompt", launch.role_text) if launch.role_text else ()),
    )


def effort(model: str | None, level: int) -> str:
    """The ladder's rung for *level*, counted from 1; levels above it saturate.

    Raises:
        BadReasoningLevel: It is below the ladder.
    """
    ladder = (*_EFFORTS, "max") if _MAX_MODEL in (model or "") else _EFFORTS
    if level < 1:
        raise BadReasoningLevel(
            f"claude has no reasoning level {level}: take 1 ({ladder[0]}) to {len(ladder)} ({ladder[-1]})"
        )
    return ladder[min(level, len(ladder)) - 1]


def _mode(launch: Launch) -> tuple[str, ...]:
    """Said even when it is the default, which a project's settings may have changed."""
    if any(word == _SKIP_FLAG or word.split("=")[0] == _MODE_FLAG for word in launch.args):
        return ()
    return (_MODE_FLAG, _MODES[launch.permissions])


def _chat(chat: Chat) -> tuple[str, ...]:
    if chat.mode == "latest":
        return ("--continue",)
    if chat.id is None:
        return ()
    # The value of --resume may be left out, so that an option behind it would be obeyed.
    return ("--resume" if chat.mode == "exact" else "--session-id", no_option(chat.id, "conversation"))

"""Claude Code's command lines: the TUI's and that of a headless turn. Pure."""

from posthouse.errors import InvalidInput
from posthouse.tools.prompt_escaping import reject_option
from posthouse.tools.tool import Chat, HeadlessTurn, Launch, Permissions

_EFFORTS = ("low", "medium", "high")
#: The only model with a level above. Other efforts of the CLI can be given as arguments.
_MAX_MODEL = "opus-4-6"
_MODES: dict[Permissions, str] = {"ask": "default", "edits": "acceptEdits", "all": "bypassPermissions"}
_MODE_FLAG = "--permission-mode"
_SKIP_FLAG = "--dangerously-skip-permissions"


def tui(executable: str, launch: Launch, chat: Chat) -> tuple[str, ...]:
    """The command line of the TUI.

    Raises:
        InvalidInput: The reasoning level or the conversation id is invalid.
    """
    return (executable, *_settings(launch, launch.model, launch.reasoning_level), *_chat(chat))


def turn(executable: str, launch: Launch, order: HeadlessTurn) -> tuple[str, ...]:
    """One headless turn; the prompt is read from stdin.

    Raises:
        InvalidInput: The reasoning level or the conversation id is invalid.
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
    """The user's own arguments, followed by the requested settings.

    Every start repeats all of them: a continued conversation keeps neither the role nor the context
    window of its model.
    """
    return (
        *launch.args,
        *(("--model", model) if model is not None else ()),
        *(("--effort", effort(model, level)) if level is not None else ()),
        *_mode(launch),
        *(("--append-system-prompt", launch.role_text) if launch.role_text else ()),
    )


def effort(model: str | None, level: int) -> str:
    """The effort for *level*, counted from 1; higher levels are clamped.

    Raises:
        InvalidInput: The level is below 1.
    """
    ladder = (*_EFFORTS, "max") if _MAX_MODEL in (model or "") else _EFFORTS
    if level < 1:
        raise InvalidInput(
            f"claude has no reasoning level {level}: take 1 ({ladder[0]}) to {len(ladder)} ({ladder[-1]})",
            code="bad_reasoning_level",
        )
    return ladder[min(level, len(ladder)) - 1]


def _mode(launch: Launch) -> tuple[str, ...]:
    """Given even if it is the default, which a project's settings may override."""
    if any(arg == _SKIP_FLAG or arg.split("=")[0] == _MODE_FLAG for arg in launch.args):
        return ()
    return (_MODE_FLAG, _MODES[launch.permissions])


def _chat(chat: Chat) -> tuple[str, ...]:
    if chat.mode == "latest":
        return ("--continue",)
    if chat.id is None:
        return ()
    # The value of --resume is optional, so an id that looks like an option would be parsed as one.
    return ("--resume" if chat.mode == "exact" else "--session-id", reject_option(chat.id, "conversation id"))

"""The command lines: TUI and headless turn, role, model, permissions, conversation. Pure."""

from collections.abc import Mapping, Sequence

from posthouse.errors import InvalidInput
from posthouse.tools.gemini import thinking
from posthouse.tools.prompt_escaping import reject_option
from posthouse.tools.tool import Chat, HeadlessTurn, Launch, Permissions, unsafe_prompt

_MODES: Mapping[Permissions, str] = {"ask": "default", "edits": "auto_edit", "all": "yolo"}
#: The CLI rejects a repeated option, and the user's own arguments take precedence.
_MODE_OPTIONS = ("--approval-mode", "--yolo", "-y")
_FORMAT_OPTIONS = ("--output-format", "-o")
#: It truncates stdin beyond this.
_MAX_STDIN_BYTES = 8 * 1024 * 1024
#: The kernel's limit for one argument.
_MAX_ARGUMENT_BYTES = 128 * 1024 - 1


def tui_arguments(launch: Launch, chat: Chat) -> tuple[str, ...]:
    """The arguments of the TUI.

    Raises:
        InvalidInput: The role is too long for an argument, or the model or conversation id is invalid.
    """
    return (*_common(launch, launch.model), *_chat(chat), *_first_prompt(launch, chat))


def turn_arguments(launch: Launch, turn: HeadlessTurn) -> tuple[str, ...]:
    """The arguments of a headless turn; the prompt is read from stdin.

    Raises:
        InvalidInput: The model or conversation id is invalid.
    """
    style = () if _has(launch.args, _FORMAT_OPTIONS) else ("--output-format", "stream-json")
    return (*_common(launch, turn.model or launch.model), *_chat(turn.chat), *style)


def turn_stdin(launch: Launch, turn: HeadlessTurn) -> str:
    """The prompt, preceded by the role in a new conversation.

    Raises:
        InvalidInput: It is longer than the CLI reads.
    """
    text = f"{role_block(launch)}\n\n{turn.prompt}" if _has_role(launch, turn.chat) else turn.prompt
    size = len(text.encode(errors="surrogateescape"))
    if size > _MAX_STDIN_BYTES:
        raise unsafe_prompt(f"the prompt has {size} bytes, gemini reads at most {_MAX_STDIN_BYTES}")
    return text


def thinking_variables(launch: Launch, turn: HeadlessTurn | None = None) -> dict[str, str]:
    """The environment for the reasoning level of a start.

    Raises:
        InvalidInput: The model has no such level.
    """
    model = (turn.model if turn else None) or launch.model
    level = turn.reasoning_level if turn and turn.reasoning_level is not None else launch.reasoning_level
    return thinking.variables(model, level)


def role_block(launch: Launch) -> str:
    """The role as the beginning of a conversation's first prompt."""
    return f"[Your role: {launch.role_name}]\n{launch.role_text.strip()}\n[End of your role]"


def _common(launch: Launch, model: str | None) -> tuple[str, ...]:
    chosen = ("--model", reject_option(model, "model")) if model is not None else ()
    mode = () if _has(launch.args, _MODE_OPTIONS) else ("--approval-mode", _MODES[launch.permissions])
    return (*launch.args, *chosen, *mode)


def _chat(chat: Chat) -> tuple[str, ...]:
    if chat.mode == "exact" and chat.id is not None:
        return ("--resume", reject_option(chat.id, "conversation id"))
    # Without a conversation, `latest` starts one.
    return ("--resume", "latest") if chat.mode == "latest" else ()


def _first_prompt(launch: Launch, chat: Chat) -> tuple[str, ...]:
    if not _has_role(launch, chat):
        return ()
    block = role_block(launch)
    if len(block.encode()) > _MAX_ARGUMENT_BYTES:
        raise InvalidInput(
            f"the role {launch.role_name!r} has more than {_MAX_ARGUMENT_BYTES} bytes: put it in a file of "
            "the project and name the file",
            code="role_too_long",
        )
    return ("--prompt-interactive", block)


def _has_role(launch: Launch, chat: Chat) -> bool:
    """Whether to pass the role: only new conversations need it."""
    return chat.mode == "new" and bool(launch.role_text.strip())


def _has(args: Sequence[str], names: Sequence[str]) -> bool:
    return any(arg == name or arg.startswith(f"{name}=") for arg in args for name in names)

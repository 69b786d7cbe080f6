"""The command lines: TUI and headless turn, role, model, permissions, conversation. Pure."""

from collections.abc import Mapping, Sequence

from posthouse.tools.gemini import thinking
from posthouse.tools.prompt_escaping import no_option
from posthouse.tools.tool import Chat, Launch, Permissions, TurnOrder, UnsafePrompt

_MODES: Mapping[Permissions, str] = {"ask": "default", "edits": "auto_edit", "all": "yolo"}
#: The CLI refuses the option twice, and the user's own arguments are kept.
_OWN_MODE = ("--approval-mode", "--yolo", "-y")
_OWN_FORMAT = ("--output-format", "-o")
#: It cuts off what stdin holds beyond this.
_MAX_STDIN_BYTES = 8 * 1024 * 1024
#: What the kernel takes as one argument.
_MAX_ARGUMENT_BYTES = 128 * 1024 - 1


class RoleTooLong(UnsafePrompt):
    """The role cannot be handed over at the start; nothing was started."""

    code = "role_too_long"


def tui_arguments(launch: Launch, chat: Chat) -> tuple[str, ...]:
    """What follows the program's name in a pane.

    Raises:
        RoleTooLong: The role does not fit in an argument.
        LooksLikeOption: There is no such model or conversation.
    """
    return (*_common(launch, launch.model), *_chat(chat), *_first_prompt(launch, chat))


def turn_arguments(launch: Launch, turn: TurnOrder) -> tuple[str, ...]:
    """What follows the program's name for a turn whose prompt comes on stdin.

    Raises:
        LooksLikeOption: There is no such model or conversation.
    """
    style = () if _has(launch.args, _OWN_FORMAT) else ("--output-format", "stream-json")
    return (*_common(launch, turn.model or launch.model), *_chat(turn.chat), *style)


def turn_stdin(launch: Launch, turn: TurnOrder) -> str:
    """The prompt, with the role before it where a conversation begins.

    Raises:
        UnsafePrompt: It is longer than the CLI reads.
    """
    text = f"{role_block(launch)}\n\n{turn.prompt}" if _has_role(launch, turn.chat) else turn.prompt
    size = len(text.encode(errors="surrogateescape"))
    if size > _MAX_STDIN_BYTES:
        raise UnsafePrompt(f"the prompt has {size} bytes, gemini reads at most {_MAX_STDIN_BYTES}")
    return text


def thinking_variables(launch: Launch, turn: TurnOrder | None = None) -> dict[str, str]:
    """The environment for the reasoning level that holds for a start.

    Raises:
        BadReasoningLevel: The model has no such level.
    """
    model = (turn.model if turn else None) or launch.model
    level = turn.reasoning_level if turn and turn.reasoning_level is not None else launch.reasoning_level
    return thinking.variables(model, level)


def role_block(launch: Launch) -> str:
    """The role as the beginning of a conversation's first prompt."""
    return f"[Your role: {launch.role_name}]\n{launch.role_text.strip()}\n[End of your role]"


def _common(launch: Launch, model: str | None) -> tuple[str, ...]:
    chosen = ("--model", no_option(model, "model")) if model is not None else ()
    mode = () if _has(launch.args, _OWN_MODE) else ("--approval-mode", _MODES[launch.permissions])
    return (*launch.args, *chosen, *mode)


def _chat(chat: Chat) -> tuple[str, ...]:
    if chat.mode == "exact" and chat.id is not None:
        return ("--resume", no_option(chat.id, "conversation"))
    # Where there is no conversation yet, `latest` starts one.
    return ("--resume", "latest") if chat.mode == "latest" else ()


def _first_prompt(launch: Launch, chat: Chat) -> tuple[str, ...]:
    if not _has_role(launch, chat):
        return ()
    block = role_block(launch)
    if len(block.encode()) > _MAX_ARGUMENT_BYTES:
        raise RoleTooLong(
            f"the role {launch.role_name!r} has more than {_MAX_ARGUMENT_BYTES} bytes: put it in a file of "
            "the project and name the file"
        )
    return ("--prompt-interactive", block)


def _has_role(launch: Launch, chat: Chat) -> bool:
    """Only a new conversation is given its role; a continued one remembers."""
    return chat.mode == "new" and bool(launch.role_text.strip())


def _has(args: Sequence[str], names: Sequence[str]) -> bool:
    return any(arg == name or arg.startswith(f"{name}=") for arg in args for name in names)

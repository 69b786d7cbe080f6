"""The commands that can use the coordination server, with the option and handler of each."""

from typing import NamedTuple

from posthouse.cli.tree import Command, Path


class ServerOption(NamedTuple):
    """How a command uses a server."""

    #: Fixed by the contract: `--port`, but `--pair-port` where `--port` could mean the gateway's port.
    option: str
    #: The handler, `module.function` as in the tree; "": the command's own handler, which checks the option.
    handler: str = ""
    #: False: without a name the command is about all agents.
    needs_name: bool = True


_PORT = ServerOption("--port")
_PAIR_PORT = ServerOption("--pair-port")

_LISTS: dict[Path, ServerOption] = dict.fromkeys(
    (("agents", "list"), ("agents", "global", "list")),
    ServerOption("--port", "via_server.listing", needs_name=False),
)
_MAIL = (
    "resolve-live",
    "status",
    "list",
    "check",
    "peek",
    "read",
    "send",
    "post",
    "reply",
    "mark",
    "mark-read",
    "move",
    "archive",
    "thread",
    "search",
)
_GATEWAY: tuple[Path, ...] = (
    ("prompt",),
    ("interrupt",),
    ("send-keys",),
    ("reconcile",),
    *(("tui", leaf) for leaf in ("state", "belief", "history", "watch", "note-prompt")),
    *(("reminders", leaf) for leaf in ("list", "get", "create", "set", "remove")),
    *(("mail-notifier", leaf) for leaf in ("status", "enable", "disable")),
)
_VERBS: dict[Path, ServerOption] = {
    **{(verb,): ServerOption("--port", f"via_server.{verb}") for verb in ("state", "interrupt", "stop")},
    ("prompt",): ServerOption("--port", "prompt_via_server.prompt"),
    **dict.fromkeys((("relaunch",), ("answer",), ("resume",)), _PORT),
    **{("requests", leaf): _PORT for leaf in ("list", "show", "wait", "cancel")},
    ("watch",): ServerOption("--port", needs_name=False),
    **{
        ("turn", leaf): ServerOption("--port", f"turns_via_server.{leaf}")
        for leaf in ("submit", "status", "events", "stdout", "stderr")
    },
    **{
        ("gateway", leaf): ServerOption("--pair-port", f"via_server.gateway_{leaf}")
        for leaf in ("attach", "detach", "status")
    },
    **{("gateway", *leaf): _PAIR_PORT for leaf in _GATEWAY},
    **{("mail", leaf): _PORT for leaf in _MAIL},
}


def for_command(command: Command) -> ServerOption | None:
    """The server option of *command*, or None. Scope `self` has none: its session is on this machine."""
    if command.scope == "short":
        return _VERBS.get(command.path[1:])
    if command.scope == "single":
        return _VERBS.get(command.path[2:])
    return _LISTS.get(command.path)

"""Which commands can ask the coordination server, by which option, and who does it then."""

from typing import NamedTuple

from posthouse.cli.tree import Command, Path


class Pair(NamedTuple):
    """How a command asks a server."""

    #: The contract's word: `--port`, but `--pair-port` where a port could be the gateway's own.
    option: str
    #: Who does it then, `module.function` as in the tree; "": the command itself, which looks for the option.
    handler: str = ""
    #: Without a name it is about all agents.
    needs_name: bool = True


_PORT = Pair("--port")
_PAIR_PORT = Pair("--pair-port")

_LISTS: dict[Path, Pair] = dict.fromkeys(
    (("agents", "list"), ("agents", "global", "list")), Pair("--port", "via_server.listing", needs_name=False)
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
_VERBS: dict[Path, Pair] = {
    **{(verb,): Pair("--port", f"via_server.{verb}") for verb in ("state", "interrupt", "stop")},
    ("prompt",): Pair("--port", "prompt_via_server.prompt"),
    **dict.fromkeys((("relaunch",), ("answer",), ("resume",)), _PORT),
    **{("requests", leaf): _PORT for leaf in ("list", "show", "wait", "cancel")},
    ("watch",): Pair("--port", needs_name=False),
    **{
        ("turn", leaf): Pair("--port", f"turns_via_server.{leaf}")
        for leaf in ("submit", "status", "events", "stdout", "stderr")
    },
    **{
        ("gateway", leaf): Pair("--pair-port", f"via_server.gateway_{leaf}")
        for leaf in ("attach", "detach", "status")
    },
    **{("gateway", *leaf): _PAIR_PORT for leaf in _GATEWAY},
    **{("mail", leaf): _PORT for leaf in _MAIL},
}


def of(command: Command) -> Pair | None:
    """How *command* asks a server, or None. `self` never does: the current session is on this machine."""
    if command.scope == "short":
        return _VERBS.get(command.path[1:])
    if command.scope == "single":
        return _VERBS.get(command.path[2:])
    return _LISTS.get(command.path)

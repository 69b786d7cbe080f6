"""Finds a command in the tree by its words, parses the remaining arguments and runs it."""

import importlib
from argparse import RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from posthouse import __version__
from posthouse.cli import external_agents, options, server_options, tree
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, Selection
from posthouse.cli.output import Output
from posthouse.cli.wiring import Wiring

_HELP = ("-h", "--help")
_ROOT_OPTIONS = """
output (before or after the command):
  --json, --print-json   for programs
  --print-plain          for people (the default)
  --print-fancy          for people, with colours on a terminal
"""


class Located(NamedTuple):
    """The longest path that the words name in the tree, and the remaining words."""

    path: tree.Path
    selection: Selection | None
    rest: list[str]


def run(prog: str, words: Sequence[str], wiring: Wiring) -> int:
    """Run the command that *words* name and return its exit code.

    Raises:
        UsageError: They name no command, or its arguments don't fit.
        PosthouseError: The command failed.
    """
    style, rest = options.take_style(words)
    output = Output(style or wiring.style, colour=wiring.colour)
    if rest[:1] == ["--version"]:
        output.result({"version": __version__}, f"posthouse {__version__}")
        return 0
    located = locate(rest)
    command = tree.COMMANDS.get(located.path)
    if command is None:
        return _show_group(prog, located, output)
    return _run_command(prog, command, located, output, wiring)


def locate(words: Sequence[str]) -> Located:
    """Match *words* against the tree, as far as possible."""
    path: tree.Path = ()
    selection: Selection | None = None
    rest = list(words)
    while rest and not rest[0].startswith("-"):
        step = (*path, rest[0])
        if step in tree.COMMANDS:
            return Located(step, selection, rest[1:])
        if not tree.is_group(step):
            break
        path, rest = step, rest[1:]
        if path == ("agents", "single"):
            selection, rest = options.take_selection(rest)
    return Located(path, selection, rest)


def parser_of(prog: str, command: tree.Command, *, with_name: bool) -> Parser:
    """The parser of one command. *with_name*: it takes the agent as its first positional."""
    parser = Parser(
        prog=" ".join((prog, *command.path)),
        description=command.summary[:1].upper() + command.summary[1:] + ".",
        formatter_class=RawDescriptionHelpFormatter,
        epilog=_ROOT_OPTIONS,
        allow_abbrev=False,
    )
    if with_name:
        parser.add_argument(
            "agent",
            nargs="?",
            metavar="NAME",
            help="the agent's name or id (or --agent-name N, --agent-id I); "
            "optional inside an agent's tmux session",
        )
    module, _, function = command.handler.partition(".")
    declare = getattr(_module(module), f"{function}_arguments", None)
    if declare is not None:
        declare(parser)
    if (option := server_options.for_command(command)) is not None:
        options.server_argument(parser, option.option)
    return parser


def help_of(prog: str, path: tree.Path) -> str:
    """The help text of the group at *path*."""
    command_line = " ".join((prog, *path))
    selector = " (--agent-name NAME | --agent-id ID)" if path == ("agents", "single") else ""
    below = tree.children(path)
    width = max(len(name) for name in below)
    lines = [f"  {name:<{width}}  {summary}" for name, summary in below.items()]
    head = tree.group_summary(path) if path else "a front door for CLI coding agents"
    return "\n".join(
        [
            f"usage: {command_line}{selector} COMMAND …",
            "",
            head[:1].upper() + head[1:] + ".",
            "",
            "commands:",
            *lines,
            _ROOT_OPTIONS,
            f"`{command_line} COMMAND --help` shows more.",
        ]
    )


def _show_group(prog: str, located: Located, output: Output) -> int:
    if not located.rest or located.rest[0] in _HELP:
        output.line(help_of(prog, located.path))
        return 0
    command_line = " ".join((prog, *located.path))
    word = located.rest[0]
    if word.startswith("-"):
        raise UsageError(f"{command_line} has no option {word}; `{command_line} --help` lists the options")
    raise UsageError(f"{command_line} has no command {word!r}{_suggestion(command_line, located)}")


def _suggestion(command_line: str, located: Located) -> str:
    import difflib

    near = difflib.get_close_matches(located.rest[0], tree.children(located.path), n=1, cutoff=0.6)
    if near:
        return f"; did you mean `{' '.join((command_line, near[0], *located.rest[1:]))}`?"
    return f"; `{command_line} --help` lists the commands"


def _run_command(prog: str, command: tree.Command, located: Located, output: Output, wiring: Wiring) -> int:
    selection, rest = located.selection, located.rest
    if command.scope == "short":
        selection, rest = options.take_selection(rest)
    parser = parser_of(prog, command, with_name=command.scope == "short" and selection is None)
    if any(word in _HELP for word in rest[: rest.index("--") if "--" in rest else None]):
        output.line(parser.format_help())
        return 0
    arguments = parser.parse(rest)
    name = getattr(arguments, "agent", None)
    call = Call(
        prog=prog,
        command=command,
        arguments=arguments,
        output=output,
        wiring=wiring,
        selection=_selection(prog, command, selection, name),
        rest=_without_name(rest, name),
    )
    call = external_agents.resolve_external(call)
    return _handler(call)(call)


def _without_name(words: Sequence[str], name: str | None) -> list[str]:
    kept = list(words)
    if name in kept:
        kept.remove(name)
    return kept


def _selection(prog: str, command: tree.Command, chosen: Selection | None, name: str | None) -> Selection:
    if command.scope == "single" and chosen is None:
        verb = " ".join(command.path[2:])
        raise UsageError(
            "agents single needs exactly one of --agent-name NAME and --agent-id ID: "
            f"{prog} agents single --agent-name NAME {verb}"
        )
    if chosen is not None:
        return chosen
    return Selection("any", name) if name else Selection("self")


def _handler(call: Call) -> Callable[[Call], int]:
    option = server_options.for_command(call.command) if call.asks_server else None
    chosen = call.command.handler if option is None else option.handler or call.command.handler
    module, _, function = chosen.partition(".")
    handler: Callable[[Call], int] = getattr(_module(module), function)
    return handler


def _module(name: str) -> object:
    return importlib.import_module(f"posthouse.cli.commands.{name}")

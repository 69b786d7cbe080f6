"""`completion`: prints a shell script. `complete` (hidden): prints candidates for the word at the cursor."""

import argparse
from importlib import resources

from posthouse.cli import dispatch, options, tree
from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.contracts import names

SHELLS = ("bash", "zsh", "fish")
_STYLE_WORDS = ("--json", "--print-plain", "--print-json", "--print-fancy")
_SELECTORS = ("--agent-name", "--agent-id")


def completion_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell the script is for")
    parser.epilog = (
        "bash:  echo 'eval \"$(posthouse completion bash)\"' >> ~/.bashrc\n"
        "zsh:   echo 'eval \"$(posthouse completion zsh)\"' >> ~/.zshrc\n"
        "fish:  posthouse completion fish > ~/.config/fish/completions/posthouse.fish"
    )


def completion(call: Call) -> int:
    """Print the script for one shell."""
    script = resources.files("posthouse.cli.commands").joinpath(f"completion.{call.arguments.shell}")
    call.output.line(script.read_text(encoding="utf-8").rstrip())
    return 0


def complete_arguments(parser: Parser) -> None:
    parser.add_argument("words", nargs="*", help="the words so far, the last one incomplete")


def complete(call: Call) -> int:
    """Print every candidate for the last word, one per line."""
    *before, typed = call.arguments.words or [""]
    for candidate in candidates(call, before):
        if candidate.startswith(typed):
            call.output.line(candidate)
    return 0


def candidates(call: Call, before: list[str]) -> list[str]:
    """The candidates after the words *before*."""
    if before and before[-1] in _SELECTORS:
        return _agents(call, ids=before[-1] == "--agent-id")
    _, words = options.take_style(before)
    located = dispatch.locate(words)
    command = tree.COMMANDS.get(located.path)
    if command is None:
        selectors = () if located.path != ("agents", "single") or located.selection else _SELECTORS
        return [*selectors, *tree.children(located.path)] if not located.rest else []
    return _arguments(call, command, located.rest)


def _arguments(call: Call, command: tree.Command, given: list[str]) -> list[str]:
    parser = dispatch.parser_of(call.prog, command, with_name=False)
    actions = {word: action for action in parser.declared for word in action.option_strings}
    if given and given[-1] in actions and actions[given[-1]].nargs != 0:
        return _choices(actions[given[-1]])
    if command.scope == "short" and not any(word for word in given if not word.startswith("-")):
        return [*_agents(call, ids=False), *actions, *_STYLE_WORDS]
    positional = [
        choice for action in parser.declared if not action.option_strings for choice in _choices(action)
    ]
    return [*positional, *actions, *_STYLE_WORDS]


def _choices(action: argparse.Action) -> list[str]:
    return [str(choice) for choice in action.choices or ()]


def _agents(call: Call, *, ids: bool) -> list[str]:
    # From the registry only: completion must not wait for tmux.
    registry = call.wiring.registry
    known = {record.agent_id if ids else record.agent_name for record in registry.records()}
    if (registry.root / names.EXTERNAL_AGENTS).is_dir():
        from posthouse.sessions.externals import ExternalAgents

        external = ExternalAgents(registry.root).records()
        known |= {record.external_agent_id if ids else record.local_name for record in external}
    return sorted(known)

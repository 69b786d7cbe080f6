"""`agents launch`, `join`, `stop` and `relaunch`."""

from pathlib import Path
from typing import TYPE_CHECKING

from posthouse import tools
from posthouse.cli import agent_launch, gateways, target
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, natural
from posthouse.cli.output import Cell
from posthouse.errors import PosthouseError
from posthouse.sessions.agents import AgentExists

if TYPE_CHECKING:
    from posthouse.sessions.session import Session

_CHAT_MODES = ("new", "tool_last_or_new", "exact")


def launch_arguments(parser: Parser) -> None:
    parser.add_argument("--tool", required=True, choices=tools.NAMES, help="which agent CLI")
    parser.add_argument("--name", help="what to call the agent (default: from the tool and the role)")
    parser.add_argument("--agent-id", metavar="ID", help="an id of its own (default: from the name)")
    parser.add_argument("--headless", action="store_true", help="no TUI: one program run per prompt")
    parser.add_argument("--workdir", type=Path, metavar="DIR", help="where it works (default: here)")
    parser.add_argument("--role-file", type=Path, metavar="FILE", help="its system prompt")
    parser.add_argument("--role-name", metavar="ROLE", help="what the role is called (default: default)")
    parser.add_argument("--model", help="the model the CLI is asked for")
    parser.add_argument(
        "--reasoning-level", type=natural, metavar="N", help="how hard it thinks, a rung of the tool's ladder"
    )
    parser.add_argument(
        "--permissions",
        choices=("ask", "edits", "all"),
        default="ask",
        help="what it may do without asking: nothing, edit files, everything (default: ask)",
    )
    parser.add_argument(
        "--login",
        choices=("inherit", "env", "none"),
        default="inherit",
        help="whose account: your own, a key given with --env, or none (default: inherit)",
    )
    parser.add_argument(
        "--tool-arg",
        action="append",
        default=[],
        metavar="ARG",
        help="an argument for the agent CLI itself, as it is (--tool-arg=--flag)",
    )
    parser.add_argument(
        "--display-style",
        choices=("plain", "json", "fancy"),
        default="plain",
        help="how a headless agent's pane shows its turns",
    )
    parser.add_argument(
        "--display-detail", choices=("concise", "detail"), default="concise", help="and how much of them"
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="K[=V]",
        help="a variable for the agent: K takes your own value (use this for secrets), K=V is for the rest",
    )
    parser.add_argument(
        "--env-file", action="append", default=[], type=Path, metavar="FILE", help="K=V lines, secrets too"
    )
    parser.add_argument("--no-gateway", action="store_true", help="don't attach a gateway")
    parser.add_argument("--hosted", action="store_true", help="its gateway in one process with others")
    parser.add_argument("--no-mailbox", action="store_true", help="don't give it a mailbox")
    for name, words in agent_launch.MAILBOX_OPTIONS.items():
        parser.add_argument(f"--{name}", metavar="V", help=words)
    parser.add_argument(
        "--replace", action="store_true", help="end and forget an agent of the same name first"
    )
    parser.add_argument("--agent-def-dir", type=Path, metavar="DIR", help="a folder of role definitions")
    parser.add_argument("--brain-manifest", type=Path, metavar="FILE", help="a prepared tool home")


def launch(call: Call) -> int:
    """Start an agent and, unless told otherwise, its gateway."""
    spec = agent_launch.spec_of(call.arguments, call.wiring)
    try:
        made = call.wiring.agents.launch(
            spec, replace_existing=call.arguments.replace, warn=call.output.warning
        )
    except AgentExists as error:
        raise agent_launch.NameTaken(error, call) from error
    return _started(call, made, "launched", hosted=call.arguments.hosted or None)


def join_arguments(parser: Parser) -> None:
    parser.add_argument("--agent-name", "--name", required=True, dest="name", help="what to call the agent")
    parser.add_argument("--agent-id", metavar="ID", help="an id of its own (default: from the name)")
    parser.add_argument(
        "--tool",
        "--provider",
        required=True,
        choices=tools.NAMES,
        dest="tool",
        help="which agent CLI runs there",
    )
    parser.add_argument("--workdir", type=Path, metavar="DIR", help="where it works (default: here)")
    parser.add_argument("--home", type=Path, metavar="DIR", help="the CLI's config home (default: its own)")
    parser.add_argument("--session", metavar="NAME", help="the tmux session (default: the current one)")
    parser.add_argument("--no-gateway", action="store_true", help="don't attach a gateway")
    parser.add_argument("--hosted", action="store_true", help="its gateway in one process with others")


def join(call: Call) -> int:
    """Take an agent that already runs in tmux under management, without touching it."""
    made = agent_launch.join(call.arguments, call.wiring)
    return _started(call, made, "joined", hosted=call.arguments.hosted or None)


def stop(call: Call) -> int:
    """End the agent, its gateway and everything below it."""
    agent = call.agent()
    call.wiring.agents.stop(agent)
    again = ""
    if agent.record.lifecycle.relaunchable:
        relaunch = target.command_for(call, "relaunch", agent.name, agent.agent_id)
        again = f"; start it again with `{relaunch}`"
    call.output.result(
        {"agent_id": agent.agent_id, "agent_name": agent.name, "lifecycle_state": "stopped"},
        f"stopped {agent.name}{again}",
    )
    return 0


def relaunch_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="every agent whose tmux session went away (a reboot)"
    )
    parser.add_argument(
        "--chat-session-mode", choices=_CHAT_MODES, default="new", help="which conversation it continues"
    )
    parser.add_argument("--chat-session-id", metavar="ID", help="the conversation, with mode exact")
    parser.add_argument("--no-gateway", action="store_true", help="don't attach a gateway")


def relaunch(call: Call) -> int:
    """Start one agent again from its manifest, or all that a reboot took."""
    arguments = call.arguments
    if arguments.all:
        return _relaunch_all(call)
    if (arguments.chat_session_mode == "exact") != (arguments.chat_session_id is not None):
        raise UsageError("--chat-session-id goes with --chat-session-mode exact, and only with it")
    made = call.wiring.agents.relaunch(
        call.agent(), arguments.chat_session_mode, arguments.chat_session_id, warn=call.output.warning
    )
    return _started(call, made, "relaunched")


def _relaunch_all(call: Call) -> int:
    results = call.wiring.agents.relaunch_lost()
    failed = [result for result in results if isinstance(result, PosthouseError)]
    made = [result for result in results if not isinstance(result, PosthouseError)]
    notes = {} if call.arguments.no_gateway else {one.agent_id: _gateway_note(call, one) for one in made}
    call.output.table(
        {
            "relaunched": [{"agent_id": one.agent_id, "agent_name": one.agent_name} for one in made],
            "failed": [{"code": error.code, "message": str(error)} for error in failed],
        },
        ("name", "result"),
        [[Cell(one.agent_name), Cell(notes.get(one.agent_id, "relaunched"))] for one in made]
        + [[Cell("-"), Cell(str(error), "bad")] for error in failed],
        empty="no agent lost its tmux session",
    )
    return 1 if failed else 0


def _gateway_note(call: Call, made: "Session") -> str:
    try:
        attached = gateways.ensure(call.wiring, made)
    except PosthouseError as error:
        return f"relaunched, but without its gateway: {error}"
    return f"relaunched, gateway at {attached.url}"


def _started(call: Call, made: "Session", word: str, *, hosted: bool | None = None) -> int:
    """Attach the gateway and show the agent. It runs whatever becomes of its gateway."""
    problem = None
    attached = None
    if not call.arguments.no_gateway:
        try:
            attached = gateways.ensure(call.wiring, made, hosted=hosted)
        except PosthouseError as error:
            problem = error
    agent_launch.show(call, made, attached, word)
    if problem is not None:
        raise gateways.NotAttached(made.agent_name, problem, call.prog) from problem
    return 0

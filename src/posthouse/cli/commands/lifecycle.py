"""`agents launch`, `join`, `stop` and `relaunch`."""

from pathlib import Path
from typing import TYPE_CHECKING

from posthouse import tools
from posthouse.cli import agent_launch, gateways, target
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, non_negative
from posthouse.cli.output import Cell
from posthouse.errors import PosthouseError
from posthouse.sessions.agents import AgentExists

if TYPE_CHECKING:
    from posthouse.sessions.session import Session

_CHAT_MODES = ("new", "tool_last_or_new", "exact")


def launch_arguments(parser: Parser) -> None:
    parser.add_argument("--tool", required=True, choices=tools.NAMES, help="the agent CLI")
    parser.add_argument("--name", help="the agent's name (default: from the tool and the role)")
    parser.add_argument("--agent-id", metavar="ID", help="the agent's id (default: from the name)")
    parser.add_argument(
        "--headless", action="store_true", help="run the program once per prompt, without a TUI"
    )
    parser.add_argument(
        "--workdir", type=Path, metavar="DIR", help="the working directory (default: the current one)"
    )
    parser.add_argument("--role-file", type=Path, metavar="FILE", help="a file with the system prompt")
    parser.add_argument("--role-name", metavar="ROLE", help="the role's name (default: default)")
    parser.add_argument("--model", help="the model to use")
    parser.add_argument(
        "--reasoning-level",
        type=non_negative,
        metavar="N",
        help="the reasoning level, from 0",
    )
    parser.add_argument(
        "--permissions",
        choices=("ask", "edits", "all"),
        default="ask",
        help="what it may do without asking: nothing, edit files, or everything (default: ask)",
    )
    parser.add_argument(
        "--login",
        choices=("inherit", "env", "none"),
        default="inherit",
        help="the account: your own, a key given with --env, or none (default: inherit)",
    )
    parser.add_argument(
        "--tool-arg",
        action="append",
        default=[],
        metavar="ARG",
        help="an argument passed on to the agent CLI (--tool-arg=--flag)",
    )
    parser.add_argument(
        "--display-style",
        choices=("plain", "json", "fancy"),
        default="plain",
        help="the output style in a headless agent's pane",
    )
    parser.add_argument(
        "--display-detail", choices=("concise", "detail"), default="concise", help="the level of detail there"
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="K[=V]",
        help="a variable for the agent: K copies your value (use this for secrets), K=V sets one",
    )
    parser.add_argument(
        "--env-file",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a file of K=V lines, also for secrets",
    )
    parser.add_argument("--no-gateway", action="store_true", help="don't attach a gateway")
    parser.add_argument("--hosted", action="store_true", help="run its gateway in the shared host process")
    parser.add_argument("--no-mailbox", action="store_true", help="don't register a mailbox")
    for name, words in agent_launch.MAILBOX_OPTIONS.items():
        parser.add_argument(f"--{name}", metavar="V", help=words)
    parser.add_argument(
        "--replace", action="store_true", help="stop and remove an agent of the same name first"
    )
    parser.add_argument("--agent-def-dir", type=Path, metavar="DIR", help="a folder of role definitions")
    parser.add_argument("--brain-manifest", type=Path, metavar="FILE", help="a prepared tool home")


def launch(call: Call) -> int:
    """Start an agent and, without --no-gateway, its gateway."""
    spec = agent_launch.spec_of(call.arguments, call.wiring)
    try:
        session = call.wiring.agents.launch(
            spec, replace_existing=call.arguments.replace, warn=call.output.warning
        )
    except AgentExists as error:
        raise agent_launch.name_taken(error, call) from error
    return _finish_start(call, session, "launched", hosted=call.arguments.hosted or None)


def join_arguments(parser: Parser) -> None:
    parser.add_argument("--agent-name", "--name", required=True, dest="name", help="the agent's name")
    parser.add_argument("--agent-id", metavar="ID", help="the agent's id (default: from the name)")
    parser.add_argument(
        "--tool",
        "--provider",
        required=True,
        choices=tools.NAMES,
        dest="tool",
        help="the agent CLI that runs there",
    )
    parser.add_argument(
        "--workdir", type=Path, metavar="DIR", help="the working directory (default: the current one)"
    )
    parser.add_argument("--home", type=Path, metavar="DIR", help="the CLI's config folder (default: its own)")
    parser.add_argument("--session", metavar="NAME", help="the tmux session (default: the current one)")
    parser.add_argument("--no-gateway", action="store_true", help="don't attach a gateway")
    parser.add_argument("--hosted", action="store_true", help="run its gateway in the shared host process")


def join(call: Call) -> int:
    """Manage an agent that already runs in tmux, without restarting it."""
    session = agent_launch.join(call.arguments, call.wiring)
    return _finish_start(call, session, "joined", hosted=call.arguments.hosted or None)


def stop(call: Call) -> int:
    """Stop the agent, its gateway and their child processes."""
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
        "--all", action="store_true", help="relaunch every agent that lost its tmux session (after a reboot)"
    )
    parser.add_argument(
        "--chat-session-mode",
        choices=_CHAT_MODES,
        default="new",
        help="the conversation to continue (default: new)",
    )
    parser.add_argument("--chat-session-id", metavar="ID", help="the conversation's id, with mode exact")
    parser.add_argument("--no-gateway", action="store_true", help="don't attach a gateway")


def relaunch(call: Call) -> int:
    """Start one agent again from its manifest, or all that lost their tmux session."""
    arguments = call.arguments
    if arguments.all:
        return _relaunch_all(call)
    if (arguments.chat_session_mode == "exact") != (arguments.chat_session_id is not None):
        raise UsageError("--chat-session-id goes with --chat-session-mode exact, and only with it")
    session = call.wiring.agents.relaunch(
        call.agent(), arguments.chat_session_mode, arguments.chat_session_id, warn=call.output.warning
    )
    return _finish_start(call, session, "relaunched")


def _relaunch_all(call: Call) -> int:
    results = call.wiring.agents.relaunch_lost()
    failed = [result for result in results if isinstance(result, PosthouseError)]
    session = [result for result in results if not isinstance(result, PosthouseError)]
    notes = {} if call.arguments.no_gateway else {one.agent_id: _gateway_note(call, one) for one in session}
    call.output.table(
        {
            "relaunched": [{"agent_id": one.agent_id, "agent_name": one.agent_name} for one in session],
            "failed": [{"code": error.code, "message": str(error)} for error in failed],
        },
        ("name", "result"),
        [[Cell(one.agent_name), Cell(notes.get(one.agent_id, "relaunched"))] for one in session]
        + [[Cell("-"), Cell(str(error), "bad")] for error in failed],
        empty="no agent lost its tmux session",
    )
    return 1 if failed else 0


def _gateway_note(call: Call, session: "Session") -> str:
    try:
        attached = gateways.ensure(call.wiring, session)
    except PosthouseError as error:
        return f"relaunched, but without its gateway: {error}"
    return f"relaunched, gateway at {attached.url}"


def _finish_start(call: Call, session: "Session", status: str, *, hosted: bool | None = None) -> int:
    """Attach the gateway and show the agent. The agent keeps running if its gateway fails."""
    problem = None
    attached = None
    if not call.arguments.no_gateway:
        try:
            attached = gateways.ensure(call.wiring, session, hosted=hosted)
        except PosthouseError as error:
            problem = error
    agent_launch.show_started(call, session, attached, status)
    if problem is not None:
        raise gateways.not_attached(session.agent_name, problem, call.prog) from problem
    return 0

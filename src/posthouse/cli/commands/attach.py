"""`agents attach`: opens the agent's terminal in this one."""

import os
import shlex

from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.contracts.manifest import WITHOUT_TMUX
from posthouse.errors import Conflict
from posthouse.sessions.agents import require_reachable
from posthouse.sessions.liveness import Agent
from posthouse.sessions.session import Session
from posthouse.terminal import client


def attach_arguments(parser: Parser) -> None:
    parser.add_argument("--read-only", action="store_true", help="attach without typing")
    parser.add_argument("--show", action="store_true", help="print the command instead of running it")


def attach(call: Call) -> int:
    """Replace this process by a tmux client of the agent's session; returns only with --show."""
    agent = call.agent()
    session = _session(agent, call.prog)
    argv = command(session, read_only=call.arguments.read_only)
    if not call.arguments.show and not call.output.is_json:
        # tmux refuses to attach inside tmux, even to another server.
        environment = {name: value for name, value in call.wiring.environment.items() if name != "TMUX"}
        os.execvpe(argv[0], argv, environment)
    call.output.result({"command": argv}, shlex.join(argv))
    return 0


def command(session: Session, *, read_only: bool = False) -> list[str]:
    """The command that attaches to the session on its tmux server."""
    argv = [*client.program(session.tmux.server), "attach-session", "-t", f"={session.tmux_session_name}"]
    return [*argv, "-r"] if read_only else argv


def _session(agent: Agent, prog: str) -> Session:
    require_reachable(agent)
    if agent.record.identity.backend in WITHOUT_TMUX:
        raise Conflict(
            f"agent {agent.name!r} has no terminal: its backend is {agent.record.identity.backend}",
            code="not_attachable",
        )
    if agent.session is None or not agent.is_live:
        raise Conflict(
            f"agent {agent.name!r} has no terminal ({agent.detail or agent.health}); "
            f"start it again with `{prog} agents relaunch {agent.name}`",
            code="not_attachable",
        )
    return agent.session

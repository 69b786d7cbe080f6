"""`agents attach`: the agent's own terminal in this one."""

import os
import shlex

from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.contracts.manifest import WITHOUT_TMUX
from posthouse.errors import Conflict
from posthouse.sessions.agents import require_answer
from posthouse.sessions.liveness import Agent
from posthouse.sessions.session import Session
from posthouse.terminal import client


class NotAttachable(Conflict):
    """There is no terminal to open."""

    code = "not_attachable"


def attach_arguments(parser: Parser) -> None:
    parser.add_argument("--read-only", action="store_true", help="look, and type nothing")
    parser.add_argument("--show", action="store_true", help="print the command instead of running it")


def attach(call: Call) -> int:
    """Become the tmux client of the agent's session; returns only with --show."""
    agent = call.agent()
    found = _session(agent, call.prog)
    argv = command(found, read_only=call.arguments.read_only)
    if not call.arguments.show and not call.output.is_json:
        # tmux refuses to attach inside tmux, though this may well be another server.
        environment = {name: value for name, value in call.wiring.environment.items() if name != "TMUX"}
        os.execvpe(argv[0], argv, environment)
    call.output.result({"command": argv}, shlex.join(argv))
    return 0


def command(found: Session, *, read_only: bool = False) -> list[str]:
    """The command that attaches to a session on the server it lives on."""
    argv = [*client.program(found.tmux.server), "attach-session", "-t", f"={found.tmux_session_name}"]
    return [*argv, "-r"] if read_only else argv


def _session(agent: Agent, prog: str) -> Session:
    require_answer(agent)
    if agent.record.identity.backend in WITHOUT_TMUX:
        raise NotAttachable(
            f"agent {agent.name!r} has no terminal: its backend is {agent.record.identity.backend}"
        )
    if agent.session is None or not agent.is_live:
        raise NotAttachable(
            f"agent {agent.name!r} has no terminal ({agent.detail or agent.health}); "
            f"start it again with `{prog} agents relaunch {agent.name}`"
        )
    return agent.session

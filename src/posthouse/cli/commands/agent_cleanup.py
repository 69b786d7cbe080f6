"""`agents single … cleanup session|logs|mailbox`: removes files of one stopped agent."""

from collections.abc import Callable
from pathlib import Path

from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell
from posthouse.sessions import cleanup
from posthouse.sessions.session import Session


def session_arguments(parser: Parser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would be removed")


logs_arguments = mailbox_arguments = session_arguments


def session(call: Call) -> int:
    """Remove a stopped agent: its record, its session folder, and the files of its launch."""
    agent = call.agent()
    ended = cleanup.require_stopped(agent)
    if not call.arguments.dry_run:
        cleanup.forget(call.wiring.agents, agent)
    return _show(call, agent.name, [ended.root])


def logs(call: Call) -> int:
    """Remove the logs of a stopped agent's gateways."""
    return _removed(call, cleanup.log_files)


def mailbox(call: Call) -> int:
    """Remove the mailbox credentials in a stopped agent's session; mail is kept."""
    return _removed(call, cleanup.mail_secret_files)


def _removed(call: Call, find: Callable[[Session], list[Path]]) -> int:
    agent = call.agent()
    found = find(cleanup.require_stopped(agent))
    if not call.arguments.dry_run:
        cleanup.remove(found)
    return _show(call, agent.name, found)


def _show(call: Call, agent_name: str, paths: list[Path]) -> int:
    call.output.table(
        {
            "agent_name": agent_name,
            "dry_run": call.arguments.dry_run,
            "removed": [str(path) for path in paths],
        },
        ("would be removed" if call.arguments.dry_run else "removed",),
        [[Cell(str(path))] for path in paths],
        empty="nothing to clean up",
    )
    return 0

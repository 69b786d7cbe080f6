"""`agents cleanup`: put the records of dead agents right, and forget stopped ones on request."""

from posthouse.cli.call import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell


def cleanup_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--purge", action="store_true", help="also forget stopped agents and remove their session folders"
    )


def cleanup(call: Call) -> int:
    """Clean up and show what was done. Sessions whose tmux server does not answer are left alone."""
    done = call.wiring.agents.clean_up(purge=call.arguments.purge)
    call.output.table(
        {"cleaned": [{"agent_id": one.agent_id, "agent_name": one.name, "action": one.action} for one in done]},
        ("name", "id", "action"),
        [[Cell(one.name or "-"), Cell(one.agent_id, "faint"), Cell(one.action)] for one in done],
        empty="nothing to clean up",
    )
    return 0

"""`agents cleanup`: repair the records of dead agents, and remove stopped ones on request."""

from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell
from posthouse.sessions import cleanup as cleanup_module


def cleanup_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--purge", action="store_true", help="also remove stopped agents and their session folders"
    )


def cleanup(call: Call) -> int:
    """Clean up and show the actions. Sessions whose tmux server does not respond are skipped."""
    done = list(cleanup_module.clean_up(call.wiring.agents, purge=call.arguments.purge))
    call.output.table(
        {"cleaned": [{"what": one.what, "action": one.action} for one in done]},
        ("what", "action"),
        [[Cell(one.what), Cell(one.action)] for one in done],
        empty="nothing to clean up",
    )
    return 0

"""`mcp`: mail and agents as MCP tools over stdio."""

from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.errors import Unavailable


class SdkMissing(Unavailable):
    """The MCP SDK is an extra, and is not installed."""

    code = "mcp_missing"

    def __init__(self) -> None:
        super().__init__("`mcp` needs the MCP SDK, which is an extra: pip install 'posthouse[mcp]'")


def mcp_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--agent",
        metavar="NAME",
        help="whose mailbox the mail tools use (default: that of the agent whose tmux session this runs in)",
    )


def mcp(call: Call) -> int:
    """Serve the tools on stdin and stdout until stdin ends.

    Raises:
        SdkMissing: The SDK is not installed; the message says how it gets there.
    """
    try:
        from posthouse.cli.mcp.command import Commands
        from posthouse.cli.mcp.server import build
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise SdkMissing from error
    commands = Commands(
        environment=call.wiring.environment,
        working_directory=call.wiring.working_directory,
        agent=call.arguments.agent,
    )
    build(commands).run("stdio")
    return 0

"""`mcp`: mail and agents as MCP tools over stdio."""

from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.errors import Unavailable


def mcp_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--agent",
        metavar="NAME",
        help="the agent whose mailbox the mail tools use (default: the agent of this tmux session)",
    )


def mcp(call: Call) -> int:
    """Serve the tools on stdin and stdout until stdin ends.

    Raises:
        Unavailable: The SDK is not installed; the message has the command that installs it.
    """
    try:
        from posthouse.cli.mcp.command import CommandRunner
        from posthouse.cli.mcp.server import build
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise Unavailable(
            "`mcp` needs the MCP SDK, which is an extra: pip install 'posthouse[mcp]'", code="mcp_missing"
        ) from error
    commands = CommandRunner(
        environment=call.wiring.environment,
        working_directory=call.wiring.working_directory,
        agent=call.arguments.agent,
    )
    build(commands).run("stdio")
    return 0

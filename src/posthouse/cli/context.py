"""The context of one command, passed to its body."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Selection
from posthouse.cli.output import Output, write_stderr
from posthouse.cli.tree import Command
from posthouse.cli.wiring import Wiring

if TYPE_CHECKING:
    from posthouse.clients.server import ServerClient
    from posthouse.contracts.external_agents import ExternalRecord
    from posthouse.sessions.liveness import Agent


class Call(NamedTuple):
    """One parsed command with its output and its access to the rest of the system."""

    #: The program name, for commands in messages.
    prog: str
    command: Command
    arguments: Namespace
    output: Output
    wiring: Wiring
    selection: Selection
    #: The words after the command, without the agent's name.
    rest: Sequence[str] = ()
    #: The record of the agent if it is on another machine.
    external_record: "ExternalRecord | None" = None

    def agent(self) -> "Agent":
        """The agent this command is about, selected by its scope.

        Raises:
            NotFound: There is none; the message suggests near names.
            Conflict: Several agents have the name; the message lists them.
        """
        from posthouse.cli import target

        return target.find(self)

    @property
    def pair_port(self) -> int | None:
        """The port of the coordination server given on the command line, or None.

        Raises:
            UsageError: The command needs an agent's name, and none is given.
        """
        number: int | None = getattr(self.arguments, "pair_port", None)
        if number is not None and self.selection.kind == "self":
            from posthouse.cli import server_options

            option = server_options.for_command(self.command)
            if option is not None and option.needs_name:
                raise UsageError(f"{option.option} goes with --agent-name or --agent-id, or the agent's NAME")
        return number

    @property
    def asks_server(self) -> bool:
        """Whether the command uses a coordination server instead of this machine's files."""
        return self.external_record is not None or self.pair_port is not None

    def server(self, *, timeout_seconds: float = 10.0) -> "ServerClient":
        """A client of the coordination server on the given port, or of the external agent's server.

        Raises:
            ServerUnreachable, NotAServer: There is no such server.
        """
        from posthouse.clients.server import ServerClient

        url, token = f"http://127.0.0.1:{self.pair_port}", None
        if self.external_record is not None:
            from posthouse.sessions.externals import ExternalAgents

            url = self.external_record.pair_api_base_url
            token = ExternalAgents(self.wiring.roots.registry).token(self.external_record.external_agent_id)
        client = ServerClient(url, timeout_seconds=timeout_seconds, token=token)
        client.identify()
        return client

    def notice(self, message: str) -> None:
        """Write a note to stderr, unless the output is JSON, which has it in the result."""
        if not self.output.is_json:
            write_stderr(message)

"""One command as it was called: what its body is handed."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Selection
from posthouse.cli.output import Output, complain
from posthouse.cli.tree import Command
from posthouse.cli.wiring import Wiring

if TYPE_CHECKING:
    from posthouse.clients.server import CoordinationClient
    from posthouse.contracts.external_agents import ExternalRecord
    from posthouse.sessions.liveness import Agent


class Call(NamedTuple):
    """The parsed command, where it writes to, and how it reaches the rest of the system."""

    #: The name the program was called by, for the commands in messages.
    prog: str
    command: Command
    arguments: Namespace
    output: Output
    wiring: Wiring
    selection: Selection
    #: The words behind the command, without those that name the agent.
    rest: Sequence[str] = ()
    #: The agent of another machine that it is about.
    elsewhere: "ExternalRecord | None" = None

    def agent(self) -> "Agent":
        """The agent this command is about, found the way its scope says.

        Raises:
            AgentNotFound: There is none; the message suggests near names.
            AmbiguousName: Several have that name; the message lists them.
        """
        from posthouse.cli import target

        return target.find(self)

    @property
    def pair_port(self) -> int | None:
        """Where the coordination server is that this command was told to ask; None: it was told nothing.

        Raises:
            UsageError: The agent it is about is not named.
        """
        number: int | None = getattr(self.arguments, "pair_port", None)
        if number is not None and self.selection.kind == "self":
            from posthouse.cli import server_options

            pair = server_options.of(self.command)
            if pair is not None and pair.needs_name:
                raise UsageError(f"{pair.option} goes with --agent-name or --agent-id, or the agent's NAME")
        return number

    @property
    def asks_server(self) -> bool:
        """Whether a coordination server is asked instead of this machine's files."""
        return self.elsewhere is not None or self.pair_port is not None

    def server(self, *, timeout_seconds: float = 10.0) -> "CoordinationClient":
        """The coordination server that this command asks: of a port, or of the agent's own machine.

        Raises:
            ServerUnreachable, NotAPair: There is none.
        """
        from posthouse.clients.server import CoordinationClient

        url, token = f"http://127.0.0.1:{self.pair_port}", None
        if self.elsewhere is not None:
            from posthouse.sessions.externals import Externals

            url = self.elsewhere.pair_api_base_url
            token = Externals(self.wiring.roots.registry).token(self.elsewhere.external_agent_id)
        client = CoordinationClient(url, timeout_seconds=timeout_seconds, token=token)
        client.identify()
        return client

    def complain(self, message: str) -> None:
        """Tell a person on stderr what the result can't; programs have it in the result."""
        if not self.output.is_json:
            complain(message)

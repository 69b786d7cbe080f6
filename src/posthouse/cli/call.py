"""One command as it was called: what its body is handed."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from posthouse.cli.failure import UsageError
from posthouse.cli.options import Selection
from posthouse.cli.output import Output
from posthouse.cli.tree import Command
from posthouse.cli.wiring import Wiring

if TYPE_CHECKING:
    from posthouse.clients.coordination import CoordinationClient
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
            from posthouse.cli import pairs

            pair = pairs.of(self.command)
            if pair is not None and pair.needs_name:
                raise UsageError(f"{pair.option} goes with --agent-name or --agent-id, or the agent's NAME")
        return number

    def server(self, *, timeout_seconds: float = 10.0) -> "CoordinationClient":
        """The coordination server that this command was told to ask.

        Raises:
            ServerUnreachable, NotAPair: There is none at that port.
        """
        from posthouse.clients.coordination import CoordinationClient

        client = CoordinationClient(f"http://127.0.0.1:{self.pair_port}", timeout_seconds=timeout_seconds)
        client.identify()
        return client

    def complain(self, message: str) -> None:
        """Tell a person on stderr what the result can't; programs have it in the result."""
        if not self.output.is_json:
            print(message, file=sys.stderr)

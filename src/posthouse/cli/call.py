"""One command as it was called: what its body is handed."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from posthouse.cli.options import Selection
from posthouse.cli.output import Output
from posthouse.cli.tree import Command
from posthouse.cli.wiring import Wiring

if TYPE_CHECKING:
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

    def complain(self, message: str) -> None:
        """Tell a person on stderr what the result can't; programs have it in the result."""
        if not self.output.is_json:
            print(message, file=sys.stderr)

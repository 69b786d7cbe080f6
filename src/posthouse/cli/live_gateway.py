"""The live gateway that a command talks to, and what to say when there is none."""

from typing import TYPE_CHECKING

from posthouse.cli import gateways, turns
from posthouse.cli.context import Call
from posthouse.errors import Unavailable

if TYPE_CHECKING:
    from posthouse.clients.gateway import GatewayClient


class NoGateway(Unavailable):
    """The agent has no gateway to ask."""

    code = "no_gateway"


def client_of(call: Call) -> "GatewayClient":
    """A client of the gateway of the agent that *call* means.

    With `--pair-port` it goes through the coordination server there.

    Raises:
        NoGateway: It has none; the message says how to start one.
    """
    if call.asks_server:
        return call.server().gateway(call.selection.value)
    found = turns.session_of(call.agent())
    client = gateways.client_of(call.wiring, found)
    if client is None:
        raise NoGateway(
            f"agent {found.agent_name!r} has no gateway; start one with "
            f"`{call.prog} agents gateway attach {found.agent_name}`"
        )
    return client

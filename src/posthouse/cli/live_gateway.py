"""The live gateway of the agent that a command is about."""

from typing import TYPE_CHECKING

from posthouse.cli import gateways, turns
from posthouse.cli.context import Call
from posthouse.errors import Unavailable

if TYPE_CHECKING:
    from posthouse.clients.gateway import GatewayClient


def client_of(call: Call) -> "GatewayClient":
    """A client of the gateway of the agent that *call* is about.

    With `--pair-port`, requests go through the coordination server on that port.

    Raises:
        Unavailable: The agent has no gateway; the message has the command that starts one.
    """
    if call.asks_server:
        return call.server().gateway(call.selection.value)
    session = turns.session_of(call.agent())
    client = gateways.client_of(call.wiring, session)
    if client is None:
        raise Unavailable(
            f"agent {session.agent_name!r} has no gateway; start one with "
            f"`{call.prog} agents gateway attach {session.agent_name}`",
            code="no_gateway",
        )
    return client

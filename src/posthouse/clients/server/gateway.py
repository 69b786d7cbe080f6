"""An agent's gateway, reached through the coordination server instead of at its own port."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from posthouse.clients.gateway import GatewayClient
from posthouse.clients.server import endpoints

if TYPE_CHECKING:
    from posthouse.clients.server.client import CoordinationClient


class ManagedGateway(GatewayClient):
    """What a `GatewayClient` can ask, of the gateway behind one agent of a server.

    Refusals are the server's: `ServerUnavailable` without a live gateway, `ServerNotFound` for what the
    server does not pass on.
    """

    def __init__(self, server: "CoordinationClient", ref: str) -> None:
        super().__init__(server.address.host, server.address.port)
        self._server = server
        self._ref = ref

    def attach(self) -> dict[str, Any]:
        """Refused with `ServerCannot`: gateways are started on the agent's own machine."""
        return self._ask("POST", "/v1/attach", {})

    def detach(self) -> dict[str, Any]:
        """Refused with `ServerCannot`: gateways are ended on the agent's own machine."""
        return self._ask("POST", "/v1/detach", {})

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        patience_seconds: float = 0.0,
    ) -> dict[str, Any]:
        return self._server.ask(
            endpoints.through_gateway(
                self._ref, method, path, body, headers=headers, patience_seconds=patience_seconds
            )
        )

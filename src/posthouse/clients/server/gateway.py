"""A client for an agent's gateway through the coordination server instead of its own port."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from posthouse.clients.gateway import GatewayClient
from posthouse.clients.server import endpoints

if TYPE_CHECKING:
    from posthouse.clients.server.client import ServerClient


class ManagedGateway(GatewayClient):
    """A `GatewayClient` whose requests the coordination server forwards.

    Errors are the server's: `ServerUnavailable` without a live gateway, `ServerNotFound` for a route that the
    server does not forward.
    """

    def __init__(self, server: "ServerClient", ref: str) -> None:
        super().__init__(server.address.host, server.address.port)
        self._server = server
        self._ref = ref

    def attach(self) -> dict[str, Any]:
        """Always raises `ServerUnsupported`: gateways are started on the agent's machine."""
        return self._request("POST", "/v1/attach", {})

    def detach(self) -> dict[str, Any]:
        """Always raises `ServerUnsupported`: gateways are stopped on the agent's machine."""
        return self._request("POST", "/v1/detach", {})

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        extra_seconds: float = 0.0,
    ) -> dict[str, Any]:
        return self._server.request(
            endpoints.through_gateway(
                self._ref, method, path, body, headers=headers, extra_seconds=extra_seconds
            )
        )

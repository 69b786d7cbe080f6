"""A blocking client for a coordination server."""

import functools
import http
import http.client
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from posthouse.clients.server import endpoints
from posthouse.clients.server.endpoint import MAX_RESPONSE_BYTES, Address, EndpointRequest, RawResponse
from posthouse.clients.server.errors import NotAServer, ServerUnreachable, UnexpectedResponse
from posthouse.errors import PosthouseError

if TYPE_CHECKING:
    from posthouse.clients.events import EventFeed
    from posthouse.clients.server.gateway import ManagedGateway

P = ParamSpec("P")
T = TypeVar("T")

#: The service name in the contract's health response.
SERVICE = "houmao-passive-server"
#: Event streams send a heartbeat every 15 s.
SILENCE_SECONDS = 45.0
_JSON = {"Content-Type": "application/json"}


def _bind(
    endpoint: Callable[P, EndpointRequest[T]],
) -> "Callable[Concatenate[ServerClient, P], T]":
    """A method that sends the request built by *endpoint* and returns the decoded response."""

    @functools.wraps(endpoint)
    def method(self: "ServerClient", /, *given: P.args, **named: P.kwargs) -> T:
        return self.request(endpoint(*given, **named))

    return method


class ServerClient:
    """One server by its address. Opens one connection per request; ignores proxy variables.

    A remote server requires *token*. Every method raises `ServerUnreachable` without a response,
    `ServerRefused` (in the family of its status) for an error response, and `UnexpectedResponse` for a
    response that can't be decoded.
    """

    health = _bind(endpoints.health)
    ready = _bind(endpoints.ready)
    metrics = _bind(endpoints.metrics)
    current_instance = _bind(endpoints.current_instance)
    shutdown = _bind(endpoints.shutdown)
    agents = _bind(endpoints.agents)
    agent = _bind(endpoints.agent)
    state = _bind(endpoints.state)
    state_detail = _bind(endpoints.state_detail)
    history = _bind(endpoints.history)
    managed_state = _bind(endpoints.managed_state)
    managed_state_detail = _bind(endpoints.managed_state_detail)
    managed_history = _bind(endpoints.managed_history)
    prompt = _bind(endpoints.prompt)
    interrupt = _bind(endpoints.interrupt)
    stop = _bind(endpoints.stop)
    launch_headless = _bind(endpoints.launch_headless)
    submit_turn = _bind(endpoints.submit_turn)
    interrupt_turn = _bind(endpoints.interrupt_turn)
    turn = _bind(endpoints.turn)
    turn_events = _bind(endpoints.turn_events)
    turn_artifact = _bind(endpoints.turn_artifact)

    def __init__(self, base_url: str, *, timeout_seconds: float = 10.0, token: str | None = None) -> None:
        self.address = Address.parse(base_url)
        self._timeout_seconds = timeout_seconds
        self._authorization = {} if token is None else {"Authorization": f"Bearer {token}"}

    def gateway(self, ref: str) -> "ManagedGateway":
        """The agent's gateway, mail included, with the methods of a `GatewayClient`."""
        from posthouse.clients.server.gateway import ManagedGateway

        return ManagedGateway(self, ref)

    def identify(self) -> None:
        """Check that a coordination server answers.

        Raises:
            NotAServer: Another service answers.
            ServerUnreachable: No response.
        """
        if self.request(endpoints.service()) != SERVICE:
            raise NotAServer(self.address.url)

    def request(self, endpoint: EndpointRequest[T]) -> T:
        """Send any endpoint request and return the decoded response."""
        seconds = self._timeout_seconds + endpoint.extra_seconds
        connection = self._connection(seconds)
        try:
            with self._sent(connection, endpoint) as response:
                status, content = response.status, response.read(MAX_RESPONSE_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()
        if len(content) > MAX_RESPONSE_BYTES:
            raise UnexpectedResponse(f"response exceeds {MAX_RESPONSE_BYTES} bytes")
        return endpoint.read(RawResponse(status, content))

    def events(
        self,
        *,
        since: str | None = None,
        agents: Sequence[str] = (),
        kinds: Sequence[str] = (),
        follow: bool = True,
    ) -> "EventFeed":
        """Events of *agents*, or of all, after *since* (an id, or `start`); without it, only new ones."""
        from posthouse.clients.events import EventFeed

        endpoint = endpoints.events(since=since, agents=agents, kinds=kinds, follow=follow)
        connection = self._connection(SILENCE_SECONDS)
        try:
            response = self._sent(connection, endpoint)
            if response.status != http.HTTPStatus.OK:
                with response:
                    endpoint.read(RawResponse(response.status, response.read(MAX_RESPONSE_BYTES)))
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from error
        except PosthouseError:
            connection.close()
            raise
        return EventFeed(connection, response)

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self.address.scheme == "https" else http.client.HTTPConnection
        return kind(self.address.host, self.address.port, timeout=seconds)

    def _sent(
        self, connection: http.client.HTTPConnection, endpoint: EndpointRequest[T]
    ) -> http.client.HTTPResponse:
        content = endpoint.content
        headers = {**self._authorization, **(_JSON if content is not None else {}), **endpoint.headers}
        connection.request(endpoint.method, self.address.prefix + endpoint.target, content, headers)
        return connection.getresponse()

    def _unreachable(self, error: Exception) -> ServerUnreachable:
        return ServerUnreachable(
            f"the server at {self.address.url} does not answer: {error or type(error).__name__}"
        )

"""An asyncio client for a coordination server, with the endpoints of the blocking client."""

import asyncio
import functools
import http
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from posthouse.clients.events import EventParser, ReceivedEvent, StreamBroken, decode_line
from posthouse.clients.server import async_request, endpoints
from posthouse.clients.server.async_gateway import AsyncManagedGateway
from posthouse.clients.server.client import SERVICE, SILENCE_SECONDS
from posthouse.clients.server.endpoint import Address, EndpointRequest, RawResponse
from posthouse.clients.server.errors import NotAServer

P = ParamSpec("P")
T = TypeVar("T")


def _bind(
    endpoint: Callable[P, EndpointRequest[T]],
) -> "Callable[Concatenate[AsyncServerClient, P], Awaitable[T]]":
    """A method that sends the request built by *endpoint* and returns the decoded response."""

    @functools.wraps(endpoint)
    def method(self: "AsyncServerClient", /, *given: P.args, **named: P.kwargs) -> Awaitable[T]:
        return self.request(endpoint(*given, **named))

    return method


class AsyncServerClient:
    """`ServerClient`, awaited. Cancelling a request closes its connection."""

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

    def gateway(self, ref: str) -> AsyncManagedGateway:
        """The agent's gateway, mail included, with the methods of a `GatewayClient`, awaited."""
        return AsyncManagedGateway(self, ref)

    async def identify(self) -> None:
        """Check that a coordination server answers; raises `NotAServer` for another service."""
        if await self.request(endpoints.service()) != SERVICE:
            raise NotAServer(self.address.url)

    async def request(self, endpoint: EndpointRequest[T]) -> T:
        """Send any endpoint request and return the decoded response."""
        seconds = self._timeout_seconds + endpoint.extra_seconds
        return endpoint.read(
            await async_request.fetch(self.address, endpoint, self._authorization, seconds=seconds)
        )

    async def events(
        self,
        *,
        since: str | None = None,
        agents: Sequence[str] = (),
        kinds: Sequence[str] = (),
        follow: bool = True,
    ) -> AsyncIterator[ReceivedEvent]:
        """Events of *agents*, or of all, after *since* (an id, `start`), until the server ends the stream."""
        endpoint = endpoints.events(since=since, agents=agents, kinds=kinds, follow=follow)
        async with async_request.open_request(self.address, endpoint, self._authorization) as reader:
            head = await async_request.read_head(reader)
            lines = async_request.lines(reader, is_chunked=head.is_chunked)
            if head.status != http.HTTPStatus.OK:
                endpoint.read(RawResponse(head.status, b"".join([line async for line in lines])))
            async for event in _parsed(lines):
                yield event


async def _parsed(lines: AsyncIterator[bytes]) -> AsyncIterator[ReceivedEvent]:
    parser = EventParser()
    while True:
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                line = await anext(lines, b"")
        except (OSError, EOFError, ValueError) as error:  # a timeout is an OSError too
            raise StreamBroken(f"event stream broken: {error or type(error).__name__}") from error
        if not line:
            return
        event = parser.feed(decode_line(line))
        if event is not None:
            yield event

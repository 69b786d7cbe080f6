"""Talks to a coordination server without blocking the loop; what is asked and read is the other client's."""

import asyncio
import functools
import http
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from posthouse.clients.events import Frames, Heard, StreamBroken, text_of
from posthouse.clients.server import async_request, endpoints
from posthouse.clients.server.async_gateway import AsyncManagedGateway
from posthouse.clients.server.client import SERVICE, SILENCE_SECONDS
from posthouse.clients.server.endpoint import Address, Question, Raw
from posthouse.clients.server.errors import NotAPair

P = ParamSpec("P")
T = TypeVar("T")


def _asked(
    question: Callable[P, Question[T]],
) -> "Callable[Concatenate[AsyncCoordinationClient, P], Awaitable[T]]":
    """A method that asks *question* and gives what the answer is read as."""

    @functools.wraps(question)
    def method(self: "AsyncCoordinationClient", /, *given: P.args, **named: P.kwargs) -> Awaitable[T]:
        return self.ask(question(*given, **named))

    return method


class AsyncCoordinationClient:
    """`CoordinationClient`, awaited. A question that is cancelled closes its connection."""

    health = _asked(endpoints.health)
    ready = _asked(endpoints.ready)
    metrics = _asked(endpoints.metrics)
    current_instance = _asked(endpoints.current_instance)
    shutdown = _asked(endpoints.shutdown)
    agents = _asked(endpoints.agents)
    agent = _asked(endpoints.agent)
    state = _asked(endpoints.state)
    state_detail = _asked(endpoints.state_detail)
    history = _asked(endpoints.history)
    managed_state = _asked(endpoints.managed_state)
    managed_state_detail = _asked(endpoints.managed_state_detail)
    managed_history = _asked(endpoints.managed_history)
    prompt = _asked(endpoints.prompt)
    interrupt = _asked(endpoints.interrupt)
    stop = _asked(endpoints.stop)
    launch_headless = _asked(endpoints.launch_headless)
    submit_turn = _asked(endpoints.submit_turn)
    interrupt_turn = _asked(endpoints.interrupt_turn)
    turn = _asked(endpoints.turn)
    turn_events = _asked(endpoints.turn_events)
    turn_artifact = _asked(endpoints.turn_artifact)

    def __init__(self, base_url: str, *, timeout_seconds: float = 10.0, token: str | None = None) -> None:
        self.address = Address.parse(base_url)
        self._timeout_seconds = timeout_seconds
        self._proof = {} if token is None else {"Authorization": f"Bearer {token}"}

    def gateway(self, ref: str) -> AsyncManagedGateway:
        """The agent's gateway, mail included, with the methods of a `GatewayClient`, awaited."""
        return AsyncManagedGateway(self, ref)

    async def identify(self) -> None:
        """Make sure that a coordination server answers; `NotAPair` when somebody else does."""
        if await self.ask(endpoints.service()) != SERVICE:
            raise NotAPair(self.address.url)

    async def ask(self, question: Question[T]) -> T:
        """Ask anything, and read the answer as the question says."""
        seconds = self._timeout_seconds + question.patience_seconds
        return question.read(
            await async_request.exchanged(self.address, question, self._proof, seconds=seconds)
        )

    async def events(
        self,
        *,
        since: str | None = None,
        agents: Sequence[str] = (),
        kinds: Sequence[str] = (),
        follow: bool = True,
    ) -> AsyncIterator[Heard]:
        """What happens to *agents*, or to all, after *since* (an id, `start`), until the server ends it."""
        question = endpoints.events(since=since, agents=agents, kinds=kinds, follow=follow)
        async with async_request.asking(self.address, question, self._proof) as reader:
            head = await async_request.head_of(reader)
            lines = async_request.lines(reader, is_chunked=head.is_chunked)
            if head.status != http.HTTPStatus.OK:
                question.read(Raw(head.status, b"".join([line async for line in lines])))
            async for heard in _heard(lines):
                yield heard


async def _heard(lines: AsyncIterator[bytes]) -> AsyncIterator[Heard]:
    frames = Frames()
    while True:
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                line = await anext(lines, b"")
        except (OSError, EOFError, ValueError) as error:  # a silence is an OSError too
            raise StreamBroken(f"the stream of events broke: {error or type(error).__name__}") from error
        if not line:
            return
        heard = frames.take(text_of(line))
        if heard is not None:
            yield heard

"""Talks to a coordination server, one question at a time."""

import functools
import http
import http.client
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from posthouse.clients.server import endpoints
from posthouse.clients.server.endpoint import MAX_ANSWER_BYTES, Address, Question, Raw
from posthouse.clients.server.errors import NotAPair, OtherShape, ServerUnreachable
from posthouse.errors import PosthouseError

if TYPE_CHECKING:
    from posthouse.clients.events import EventFeed
    from posthouse.clients.server.gateway import ManagedGateway

P = ParamSpec("P")
T = TypeVar("T")

#: What a server of the contract calls itself.
SERVICE = "houmao-passive-server"
#: A stream of events gives a sign of life every 15 s.
SILENCE_SECONDS = 45.0
_JSON = {"Content-Type": "application/json"}


def _asked(
    question: Callable[P, Question[T]],
) -> "Callable[Concatenate[CoordinationClient, P], T]":
    """A method that asks *question* and returns what the answer is read as."""

    @functools.wraps(question)
    def method(self: "CoordinationClient", /, *given: P.args, **named: P.kwargs) -> T:
        return self.ask(question(*given, **named))

    return method


class CoordinationClient:
    """One server, by its address. Keeps no connection open; proxy variables do not count.

    *token* is what a server beyond this machine wants to see. Every method raises `ServerUnreachable` when
    nobody answers, `ServerRefused` (also of the family of its status) when the server says no, and
    `OtherShape` when its answer can't be read.
    """

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

    def gateway(self, ref: str) -> "ManagedGateway":
        """The agent's gateway, mail included, with the methods of a `GatewayClient`."""
        from posthouse.clients.server.gateway import ManagedGateway

        return ManagedGateway(self, ref)

    def identify(self) -> None:
        """Make sure that a coordination server answers.

        Raises:
            NotAPair: Somebody else does.
            ServerUnreachable: Nobody does.
        """
        if self.ask(endpoints.service()) != SERVICE:
            raise NotAPair(self.address.url)

    def ask(self, question: Question[T]) -> T:
        """Ask anything, and read the answer as the question says."""
        seconds = self._timeout_seconds + question.patience_seconds
        connection = self._connection(seconds)
        try:
            with self._sent(connection, question) as response:
                status, content = response.status, response.read(MAX_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()
        if len(content) > MAX_ANSWER_BYTES:
            raise OtherShape(f"an answer of more than {MAX_ANSWER_BYTES} bytes is no server's")
        return question.read(Raw(status, content))

    def events(
        self,
        *,
        since: str | None = None,
        agents: Sequence[str] = (),
        kinds: Sequence[str] = (),
        follow: bool = True,
    ) -> "EventFeed":
        """What happens to *agents*, or to all, after *since* (an id, or `start`), or from now on."""
        from posthouse.clients.events import EventFeed

        question = endpoints.events(since=since, agents=agents, kinds=kinds, follow=follow)
        connection = self._connection(SILENCE_SECONDS)
        try:
            response = self._sent(connection, question)
            if response.status != http.HTTPStatus.OK:
                with response:
                    question.read(Raw(response.status, response.read(MAX_ANSWER_BYTES)))
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
        self, connection: http.client.HTTPConnection, question: Question[T]
    ) -> http.client.HTTPResponse:
        content = question.content
        headers = {**self._proof, **(_JSON if content is not None else {}), **question.headers}
        connection.request(question.method, self.address.prefix + question.target, content, headers)
        return connection.getresponse()

    def _unreachable(self, error: Exception) -> ServerUnreachable:
        return ServerUnreachable(
            f"the server at {self.address.url} does not answer: {error or type(error).__name__}"
        )

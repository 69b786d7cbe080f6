"""Both clients of the coordination server, against one that answers as told."""

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from posthouse.clients.server import (
    AsyncServerClient,
    BadServerAddress,
    NotAServer,
    ServerClient,
    ServerConflict,
    ServerRefused,
    ServerUnreachable,
    ServerUnsupported,
    UnexpectedResponse,
    async_gateway,
    responses,
)
from posthouse.errors import Conflict, Denied, InvalidInput, NotFound, Unavailable
from posthouse.testing.canned_server import Told, told

LIMIT_SECONDS = 60.0


@pytest.fixture
def server() -> Iterator[Told]:
    with told() as made:
        yield made


Client = ServerClient | AsyncServerClient
Make = Callable[[str], Client]


@pytest.fixture(params=[ServerClient, AsyncServerClient], ids=["blocking", "awaited"])
def make(request: pytest.FixtureRequest) -> Make:
    def made(url: str) -> Client:
        client: Client = request.param(url, timeout_seconds=LIMIT_SECONDS, token="t0ken")
        return client

    return made


def result(asked: Any) -> Any:
    """What a question came to, whichever client asked it."""

    async def awaited() -> Any:
        return await asked

    return asyncio.run(awaited()) if inspect.isawaitable(asked) else asked


@pytest.mark.parametrize(
    ("ask", "method", "target", "body"),
    [
        pytest.param(lambda c: c.agents(tool=("codex",), name="g*", has_gateway=True), "GET",
                     "/houmao/agents?tool=codex&name=g%2A&has_gateway=true", None, id="a filtered list"),
        pytest.param(lambda c: c.state("a/b ü"), "GET", "/houmao/agents/a%2Fb%20%C3%BC/state", None,
                     id="a name with anything in it"),
        pytest.param(lambda c: c.prompt("gpu", "hi", model="m", reasoning_level=0), "POST",
                     "/houmao/agents/gpu/requests",
                     {"request_kind": "submit_prompt", "prompt": "hi",
                      "execution": {"model": {"name": "m", "reasoning": {"level": 0}}}}, id="a prompt"),
        pytest.param(lambda c: c.interrupt("gpu"), "POST", "/houmao/agents/gpu/requests",
                     {"request_kind": "interrupt"}, id="an interrupt"),
        pytest.param(lambda c: c.submit_turn("gpu", "hi", chat_session={"mode": "new"}), "POST",
                     "/houmao/agents/gpu/turns", {"prompt": "hi", "chat_session": {"mode": "new"}},
                     id="a turn"),
        pytest.param(lambda c: c.gateway("gpu").status(), "GET", "/houmao/agents/gpu/gateway", None,
                     id="a gateway's status"),
        pytest.param(lambda c: c.gateway("gpu").tui_history(limit=3), "GET",
                     "/houmao/agents/gpu/gateway/tui/history?limit=3", None, id="a TUI's history"),
        pytest.param(lambda c: c.gateway("gpu").send_keys("x"), "POST",
                     "/houmao/agents/gpu/gateway/control/send-keys",
                     {"sequence": "x", "escape_special_keys": False}, id="keys"),
        pytest.param(lambda c: c.gateway("gpu").delete_reminder("r/1"), "DELETE",
                     "/houmao/agents/gpu/gateway/reminders/r%2F1", None, id="a reminder"),
        pytest.param(lambda c: c.gateway("gpu").mail("list", {"box": "inbox"}), "POST",
                     "/houmao/agents/gpu/mail/list", {"schema_version": 1, "box": "inbox"}, id="mail"),
    ],
)  # fmt: skip
def test_each_question_has_its_route(
    server: Told, make: Make, ask: Callable[[Any], Any], method: str, target: str, body: Any
) -> None:
    """Method, path and body are the contract's, and the token is shown."""
    with suppress(UnexpectedResponse):  # `{}` is no answer to most of them
        result(ask(make(server.url)))

    [asked] = server.asked
    assert (asked.method, asked.target, asked.body) == (method, target, body)
    assert asked.headers["Authorization"] == "Bearer t0ken"


ACCEPTED = {
    "success": True,
    "tracked_agent_id": "a",
    "request_id": "mreq-1",
    "request_kind": "interrupt",
    "disposition": "no_op",
    "detail": "nothing runs",
}


def test_answers_are_typed_and_what_is_new_is_passed_over(server: Told, make: Make) -> None:
    """A field of a newer server does no harm; one that is missing is told by its name."""
    server.answer = (200, json.dumps(ACCEPTED | {"of_tomorrow": 1}).encode())
    assert result(make(server.url).interrupt("a")) == responses.ManagedAccepted(
        success=True,
        tracked_agent_id="a",
        request_id="mreq-1",
        request_kind="interrupt",
        disposition="no_op",
        detail="nothing runs",
    )

    server.answer = (200, json.dumps({"status": "ok", "request_id": "r", "detail": "d"}).encode())
    with pytest.raises(UnexpectedResponse, match="`success`"):
        result(make(server.url).interrupt("a"))


@pytest.mark.parametrize(
    ("status", "family"),
    [
        (400, InvalidInput),
        (401, Denied),
        (404, NotFound),
        (409, Conflict),
        (422, InvalidInput),
        (429, Unavailable),
        (501, ServerUnsupported),
        (502, Unavailable),
        (503, Unavailable),
    ],
)
def test_a_refusal_is_of_its_family(server: Told, make: Make, status: int, family: type[Exception]) -> None:
    """The status chooses the family; the server's words are the message."""
    server.answer = (status, b'{"detail": "not so"}')

    with pytest.raises(family, match="not so") as refused:
        result(make(server.url).stop("gpu"))
    assert isinstance(refused.value, ServerRefused)
    assert refused.value.status == status


def test_ambiguity_names_the_candidates(server: Told, make: Make) -> None:
    """They are facts of the error."""
    server.answer = (409, b'{"detail": "two", "agent_ids": ["a", "b"]}')

    with pytest.raises(ServerConflict) as refused:
        result(make(server.url).agent("gpu"))
    assert refused.value.facts == {"agent_ids": ["a", "b"]}


@pytest.mark.parametrize(
    "answer",
    [(200, b'{"protocol_version": "v1", "status": "ok"}'), (404, b"<html>"), (200, b"[]")],
    ids=["a gateway", "a web server", "a list"],
)
def test_a_stranger_is_no_pair(server: Told, make: Make, answer: tuple[int, bytes]) -> None:
    """A server is known by what it calls itself."""
    server.answer = answer
    with pytest.raises(NotAServer, match=str(server.server_port)):
        result(make(server.url).identify())

    server.answer = (200, b'{"status": "ok", "houmao_service": "houmao-passive-server"}')
    result(make(server.url).identify())


def test_nobody_there_is_said_with_the_address(make: Make) -> None:
    """Nobody listens on a port that was just given up."""
    with told() as gone:
        url = gone.url

    with pytest.raises(ServerUnreachable, match=url):
        result(make(url).health())


def test_output_is_read_in_pieces(server: Told, make: Make) -> None:
    """From an offset on, also of a server that knows no ranges; past the end there is nothing."""
    server.answer = (206, b"lo")
    assert result(make(server.url).turn_artifact("a", "t", "stdout", offset=3)) == b"lo"
    assert server.asked[0].headers["Range"] == "bytes=3-4194306"

    server.answer = (200, b"hello")
    assert result(make(server.url).turn_artifact("a", "t", "stdout", offset=3)) == b"lo"

    server.answer = (416, b'{"detail": "past the end"}')
    assert result(make(server.url).turn_artifact("a", "t", "stdout", offset=9)) == b""


@pytest.mark.parametrize("is_chunked", [False, True], ids=["as it is", "in pieces"])
def test_events_are_heard_one_by_one(server: Told, make: Make, is_chunked: bool) -> None:
    """With their ids, until the server ends the stream; a refusal is an error."""
    server.is_chunked = is_chunked
    server.answer = (200, b': hello\n\nid: 1-a\ndata: {"kind": "completed", "agent_id": "a"}\n\nid: 2-a\n\n')
    client = make(server.url)

    async def heard() -> list[Any]:
        assert isinstance(client, AsyncServerClient)
        return [one async for one in client.events(since="start", agents=("gpu",), kinds=("completed",))]

    def read() -> list[Any]:
        if isinstance(client, AsyncServerClient):
            return asyncio.run(heard())
        with client.events(since="start", agents=("gpu",), kinds=("completed",)) as feed:
            told = [*feed]
            assert feed.last_id == "2-a"
            return told

    assert read() == [("1-a", {"kind": "completed", "agent_id": "a"})]
    assert server.asked[0].target == "/houmao/events?since=start&agent=gpu&kind=completed"

    server.answer = (404, b'{"detail": "an older server"}')
    with pytest.raises(NotFound, match="an older server"):
        read()


@pytest.mark.parametrize(
    "address",
    ["", "127.0.0.1:9891", "ftp://host", "http://", "http://host:99999", "http://u:p@host", "http://h?x=1"],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    """Before anything is asked."""
    with pytest.raises(BadServerAddress):
        ServerClient(address)


def test_both_clients_have_the_same_methods() -> None:
    """Whoever changes from one to the other finds everything there."""

    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(ServerClient) == public(AsyncServerClient)
    own = public(async_gateway.AsyncManagedGateway) - {"request"}
    assert own <= public(type(ServerClient("http://h").gateway("a")))

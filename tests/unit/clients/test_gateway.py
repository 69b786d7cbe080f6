"""The gateway's client, against a server that answers as told."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from posthouse.clients.gateway import (
    GatewayClient,
    GatewayRefused,
    GatewayTokenRefused,
    GatewayUnreachable,
)
from posthouse.errors import Conflict, Denied, InvalidInput, NotFound, Unavailable


@pytest.fixture(autouse=True)
def no_proxy_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The surroundings of the tests have none."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


class Told(HTTPServer):
    """Answers everything with one answer and keeps what it was asked."""

    answer: tuple[int, bytes] = (200, b"{}")
    asked: list[tuple[str, str, Any]]
    headers: list[Message]


class Handler(BaseHTTPRequestHandler):
    server: Told

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.asked.append((self.command, self.path, body))
        self.server.headers.append(self.headers)
        status, content = self.server.answer
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serving(status: int = 200, answer: object = None) -> Iterator[Told]:
    server = Told(("127.0.0.1", 0), Handler)
    content = answer if isinstance(answer, bytes) else json.dumps(answer or {}).encode()
    server.answer, server.asked, server.headers = (status, content), [], []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def client(server: Told, **more: Any) -> GatewayClient:
    return GatewayClient("127.0.0.1", server.server_port, **more)


QUESTIONS: dict[str, tuple[Callable[[GatewayClient], object], tuple[str, str, object]]] = {
    "health": (lambda one: one.health(), ("GET", "/health", None)),
    "status": (lambda one: one.status(), ("GET", "/v1/status", None)),
    "interrupt": (
        lambda one: one.interrupt(),
        ("POST", "/v1/requests", {"schema_version": 1, "kind": "interrupt", "payload": {}}),
    ),
    "a prompt": (
        lambda one: one.submit_prompt("hi"),
        ("POST", "/v1/requests", {"schema_version": 1, "kind": "submit_prompt", "payload": {"prompt": "hi"}}),
    ),
    "a prompt with everything": (
        lambda one: one.submit_prompt(
            "hi", turn_id="t", chat_session={"mode": "new"}, model="m", reasoning_level=2
        ),
        (
            "POST",
            "/v1/requests",
            {
                "schema_version": 1,
                "kind": "submit_prompt",
                "payload": {
                    "prompt": "hi",
                    "turn_id": "t",
                    "chat_session": {"mode": "new"},
                    "execution": {"model": {"name": "m", "reasoning": {"level": 2}}},
                },
            },
        ),
    ),
}


@pytest.mark.parametrize("respect_proxy", [False, True])
@pytest.mark.parametrize(("ask", "expected"), QUESTIONS.values(), ids=QUESTIONS.keys())
def test_a_question_goes_out_as_the_contract_has_it(
    ask: Callable[[GatewayClient], object], expected: tuple[str, str, object], respect_proxy: bool
) -> None:
    """Method, path and body, by either way."""
    with serving(202, {"some": "answer"}) as server:
        answer = ask(client(server, respect_proxy=respect_proxy))

    assert server.asked == [expected]
    assert answer == {"some": "answer"}


@pytest.mark.parametrize(
    ("status", "family"),
    [
        (401, GatewayTokenRefused),
        (401, Denied),
        (403, Denied),
        (404, NotFound),
        (409, Conflict),
        (413, InvalidInput),
        (422, InvalidInput),
        (503, Unavailable),
    ],
)
def test_a_refusal_is_of_the_family_its_status_stands_for(status: int, family: type[Exception]) -> None:
    """Callers branch on families; status and detail are kept."""
    with serving(status, {"detail": "because"}) as server, pytest.raises(family) as caught:
        client(server).status()

    refused = caught.value
    assert isinstance(refused, GatewayRefused)
    assert (refused.status, refused.detail, str(refused)) == (status, "because", "because")


@pytest.mark.parametrize("respect_proxy", [False, True])
def test_the_token_is_shown_with_every_question(respect_proxy: bool) -> None:
    """To a gateway that wants one; without a token nothing is shown."""
    with serving() as server:
        one = client(server, respect_proxy=respect_proxy, token="s3cret")
        one.status()
        one.submit_prompt("hi")
        client(server, respect_proxy=respect_proxy).status()

    shown = [headers["authorization"] for headers in server.headers]
    assert shown == ["Bearer s3cret", "Bearer s3cret", None]


def test_the_token_is_shown_to_the_stream_of_events_too() -> None:
    """And its refusal is told as any other."""
    refused = pytest.raises(GatewayTokenRefused, match="show the token")
    with serving(401, {"detail": "show the token"}) as server, refused:
        client(server, token="s3cret").events()

    assert [headers["authorization"] for headers in server.headers] == ["Bearer s3cret"]


@pytest.mark.parametrize("respect_proxy", [False, True])
def test_a_prompt_is_sent_with_its_key(respect_proxy: bool) -> None:
    """Queued or direct; nothing else has one."""
    with serving() as server:
        one = client(server, respect_proxy=respect_proxy)
        one.submit_prompt("hi", idempotency_key="deploy-1")
        one.control_prompt("hi", idempotency_key="deploy-2")
        one.submit_prompt("hi")
        one.interrupt()

    keys = [headers["idempotency-key"] for headers in server.headers]
    assert keys == ["deploy-1", "deploy-2", None, None]


@pytest.mark.parametrize("key", ["", "two words", "x\n", "ü", "x" * 256])
def test_what_no_header_can_carry_is_no_key(key: str) -> None:
    """It is refused before anything is asked."""
    with serving() as server, pytest.raises(InvalidInput, match="idempotency key"):
        client(server).submit_prompt("hi", idempotency_key=key)

    assert server.asked == []


DETAILS = {
    "a text": ("no", "no"),
    "an object": ({"error_code": "not_ready", "detail": "busy"}, "busy"),
    "problems": (
        [{"loc": ["body", "payload", "prompt"], "msg": "Field required"}, {"loc": ["body"], "msg": "odd"}],
        "payload.prompt: Field required; odd",
    ),
    "nothing": (None, "the gateway answered 422"),
}


@pytest.mark.parametrize(("detail", "words"), DETAILS.values(), ids=DETAILS.keys())
def test_a_refusal_can_be_shown_to_a_person(detail: object, words: str) -> None:
    """Whatever shape the detail has, its words come out."""
    with serving(422, {"detail": detail}) as server, pytest.raises(GatewayRefused) as caught:
        client(server).status()

    assert str(caught.value) == words


def test_nobody_there_is_unreachable() -> None:
    """A dead gateway gives an error with its address, within the time limit."""
    with serving() as server:
        port = server.server_port

    with pytest.raises(GatewayUnreachable, match=f"127.0.0.1:{port}"):
        GatewayClient("127.0.0.1", port).health()


@pytest.mark.parametrize("answer", [b"<html>", b"[]"])
def test_something_else_on_that_port_is_unreachable(answer: bytes) -> None:
    """What does not answer as a gateway is none."""
    with serving(200, answer) as server, pytest.raises(GatewayUnreachable):
        client(server).health()


def test_proxy_variables_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway is on this machine; a proxy would never reach it."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with serving(200, {"status": "ok"}) as server:
        assert client(server).health() == {"status": "ok"}
        with pytest.raises(GatewayUnreachable):
            client(server, respect_proxy=True).health()


def test_a_listener_on_every_address_is_reached_on_loopback() -> None:
    """0.0.0.0 is where a gateway listens, not where it is."""
    with serving(200, {"status": "ok"}) as server:
        assert GatewayClient("0.0.0.0", server.server_port).health() == {"status": "ok"}

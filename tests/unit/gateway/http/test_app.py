"""The gateway over HTTP: answers, refusals, and who is let in."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.testing.gateway import Answer, FakeAgent, call
from posthouse.web import body

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Content = bytes | Mapping[str, Any] | None
PROMPT = {"kind": "submit_prompt", "payload": {"prompt": "hello"}}


@pytest.fixture
def ask(opened: Opener) -> Callable[..., Answer]:
    """Asks a fresh gateway one question."""

    def asked(
        method: str, path: str, content: bytes | Mapping[str, Any] | None = None, **more: Any
    ) -> Answer:
        async def story() -> Answer:
            agent = FakeAgent(is_headless=more.pop("is_headless", True))
            if more.pop("is_there", True):
                agent.appear()
            async with opened(agent) as gateway:
                return await call(app.build(gateway), method, path, content, **more)

        return asyncio.run(story())

    return asked


def test_health_says_only_that_it_is_alive(ask: Callable[..., Answer]) -> None:
    """The agent does not matter for it."""
    answer = ask("GET", "/health", is_there=False)

    assert (answer.status, answer.body) == (200, {"protocol_version": "v1", "status": "ok"})


def test_status_writes_its_nulls(ask: Callable[..., Answer]) -> None:
    """Every field is there, whether or not it has a value."""
    answer = ask("GET", "/v1/status")

    assert answer.status == 200
    assert {name for name, value in answer.body.items() if value is None} == {
        "gateway_tmux_window_id",
        "gateway_tmux_window_index",
        "gateway_tmux_pane_id",
    }
    assert len(answer.body) == 20


def test_a_request_is_accepted_with_202(ask: Callable[..., Answer]) -> None:
    """The answer has exactly the contract's fields."""
    answer = ask("POST", "/v1/requests", PROMPT)

    assert answer.status == 202
    assert answer.headers["content-type"] == "application/json"
    assert list(answer.body) == [
        "request_id",
        "request_kind",
        "state",
        "accepted_at_utc",
        "queue_depth",
        "managed_agent_instance_epoch",
    ]


REFUSALS = {
    "an unknown path": (("GET", "/v2"), 404, "Not Found"),
    "a slash too many": (("GET", "/health/"), 404, "Not Found"),
    "another method": (("DELETE", "/v1/requests"), 405, "Method Not Allowed"),
    "no body": (
        ("POST", "/v1/requests"),
        422,
        [{"type": "missing", "loc": ["body"], "msg": "Field required", "input": None}],
    ),
    "broken JSON": (
        ("POST", "/v1/requests", b'{"kind": '),
        422,
        [
            {
                "type": "json_invalid",
                "loc": ["body", 9],
                "msg": "JSON decode error",
                "input": {},
                "ctx": {"error": "Expecting value"},
            }
        ],
    ),
    "bytes that are no text": (
        ("POST", "/v1/requests", b"\xff"),
        422,
        [
            {
                "type": "json_invalid",
                "loc": ["body", 0],
                "msg": "JSON decode error",
                "input": {},
                "ctx": {"error": "not UTF-8"},
            }
        ],
    ),
    "a field too many": (
        ("POST", "/v1/requests", {"kind": "interrupt", "payload": {"now": True}}),
        422,
        [
            {
                "type": "extra_forbidden",
                "loc": ["body", "interrupt", "payload", "now"],
                "msg": "Extra inputs are not permitted",
                "input": True,
            }
        ],
    ),
    "a rule of ours": (
        (
            "POST",
            "/v1/requests",
            {"kind": "submit_prompt", "payload": {"prompt": "x", "chat_session": {"mode": "exact"}}},
        ),
        422,
        [
            {
                "type": "value_error",
                "loc": ["body", "submit_prompt", "payload", "chat_session"],
                "msg": "Value error, id goes with mode exact, and only with it",
                "input": {"mode": "exact"},
                "ctx": {"error": {}},
            }
        ],
    ),
    "no object where one belongs": (
        ("POST", "/v1/requests", {"kind": "submit_prompt", "payload": []}),
        422,
        [
            {
                "type": "model_attributes_type",
                "loc": ["body", "submit_prompt", "payload"],
                "msg": "Input should be a valid dictionary or object to extract fields from",
                "input": [],
            }
        ],
    ),
    "a body that is too large": (
        ("POST", "/v1/requests", b" " * (body.MAX_BYTES + 1)),
        413,
        f"The body is larger than {body.MAX_BYTES} bytes",
    ),
}


@pytest.mark.parametrize(("question", "status", "detail"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refusal_has_the_shape_clients_know(
    ask: Callable[..., Answer], question: tuple[Any, ...], status: int, detail: object
) -> None:
    """Status and `detail` are as FastAPI writes them."""
    answer = ask(*question)

    assert (answer.status, answer.body) == (status, {"detail": detail})


def test_another_content_type_is_refused(ask: Callable[..., Answer]) -> None:
    """A form is not a request, and the answer says what is."""
    answer = ask("POST", "/v1/requests", b"kind=interrupt", headers={"content-type": "text/plain"})

    assert answer.status == 422
    assert answer.body["detail"][0]["msg"] == "Send application/json"


def test_a_hostile_body_is_answered_briefly(ask: Callable[..., Answer]) -> None:
    """Ten thousand problems are not all told."""
    answer = ask("POST", "/v1/requests", {"kind": "interrupt", "payload": {str(n): n for n in range(10_000)}})

    assert (answer.status, len(answer.body["detail"])) == (422, 50)


def test_an_absent_agent_is_503(ask: Callable[..., Answer]) -> None:
    """The gateway is there, its agent is not."""
    answer = ask("POST", "/v1/requests", PROMPT, is_there=False)

    assert (answer.status, answer.body) == (503, {"detail": "the agent is not available: not started"})


def test_a_model_for_a_tui_is_422_with_a_text(ask: Callable[..., Answer]) -> None:
    """It is the caller's to change."""
    asked = {
        "kind": "submit_prompt",
        "payload": {"prompt": "x", "execution": {"model": {"name": "m"}}},
    }
    answer = ask("POST", "/v1/requests", asked, is_headless=False)

    assert (answer.status, answer.body) == (
        422,
        {"detail": "execution is for headless agents; this one is a TUI"},
    )


def test_a_fault_tells_the_caller_nothing(opened: Opener) -> None:
    """What went wrong inside stays inside; the server gets it, to log it."""
    answers: list[Answer] = []

    async def story() -> None:
        agent = FakeAgent()
        agent.appear()
        async with opened(agent) as gateway:
            # No real fault is at hand.
            gateway.submit = _broken  # type: ignore[method-assign, assignment]
            with pytest.raises(RuntimeError, match="a secret path"):
                await call(app.build(gateway), "POST", "/v1/requests", PROMPT, keep=answers.append)

    asyncio.run(story())

    assert [(answer.status, answer.body) for answer in answers] == [
        (500, {"detail": "Internal Server Error"})
    ]


async def _broken(_: object, *, key: object) -> object:
    raise RuntimeError("a secret path")


@pytest.mark.parametrize("deep", [b"[" * 100_000, b'{"a":' * 100_000, b'{"kind": ' + b"[" * 100_000])
def test_a_body_that_is_nested_without_end_is_a_bad_request(ask: Callable[..., Answer], deep: bytes) -> None:
    """And no fault of the server."""
    answer = ask("POST", "/v1/requests", deep)

    assert (answer.status, [one["type"] for one in answer.body["detail"]]) == (422, ["json_invalid"])

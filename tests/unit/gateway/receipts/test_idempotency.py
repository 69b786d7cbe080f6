"""Idempotency keys: whoever repeats a request gets the first answer, and nothing is done twice."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from posthouse.contracts.gateway_control_http import ControlPrompt
from posthouse.gateway.http import app
from posthouse.gateway.receipts.idempotency import key_of
from posthouse.gateway.service import Gateway
from posthouse.queue import DirectPrompt
from posthouse.testing.gateway import Answer, FakeAgent, call

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
Body = Mapping[str, Any]
REQUESTS = "/v1/requests"
DIRECT = "/v1/control/prompt"
QUEUED = {"kind": "submit_prompt", "payload": {"prompt": "hello"}}
BOTH_DOORS = pytest.mark.parametrize(
    ("path", "body", "other"),
    [
        (REQUESTS, QUEUED, {"kind": "submit_prompt", "payload": {"prompt": "other"}}),
        (DIRECT, {"prompt": "hello"}, {"prompt": "other"}),
    ],
    ids=["queued", "direct"],
)


def agent(*, is_headless: bool = True) -> FakeAgent:
    made = FakeAgent(is_headless=is_headless)
    made.appear()
    return made


async def post(gateway: Gateway, path: str, body: Body, key: str | None = "k-1") -> Answer:
    headers = {} if key is None else {"idempotency-key": key}
    return await call(app.build(gateway), "POST", path, body, headers=headers)


def same(answer: Answer) -> tuple[int, Any, str | None, str | None]:
    """Everything of an answer that a repeat must have."""
    headers = answer.headers
    return answer.status, answer.body, headers.get("location"), headers.get("x-posthouse-request-id")


@BOTH_DOORS
def test_a_repeat_gets_the_first_answer_and_does_nothing(
    opened: Opener, until: Until, path: str, body: Body, other: Body
) -> None:
    """Status, body and headers are the first one's, also after a restart and with the agent gone."""
    received = []

    async def story() -> list[Answer]:
        made = agent()
        async with opened(made) as gateway:
            answers = [await post(gateway, path, body), await post(gateway, path, body)]
            await until(lambda: gateway.status().active_execution == "idle" and bool(made.received))
            received.extend(made.received)
        gone = FakeAgent()
        async with opened(gone) as gateway:
            answers.append(await post(gateway, path, body))
        received.extend(gone.received)
        return answers

    first, second, third = asyncio.run(story())

    assert same(first) == same(second) == same(third)
    assert first.status in (200, 202)
    assert [prompt.text for prompt in received] == ["hello"]


@BOTH_DOORS
def test_another_body_under_the_same_key_is_refused(
    opened: Opener, path: str, body: Body, other: Body
) -> None:
    """A key stands for one request; a second one needs its own."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            await post(gateway, path, body)
            refused = await post(gateway, path, other)

        assert refused.status == 422
        assert "key of its own" in refused.body["detail"]

    asyncio.run(story())


@BOTH_DOORS
def test_repeats_at_the_same_time_are_one(
    opened: Opener, until: Until, path: str, body: Body, other: Body
) -> None:
    """Ten callers with one key make one request, and all hear the same."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            answers = await asyncio.gather(*(post(gateway, path, body) for _ in range(10)))
            await until(lambda: len(made.received) == 1)
            made.let_go()
            await until(lambda: gateway.status().active_execution == "idle")

        assert len({str(same(answer)) for answer in answers}) == 1
        assert [prompt.text for prompt in made.received] == ["hello"]

    asyncio.run(story())


def test_a_refused_prompt_leaves_its_key_free(opened: Opener, until: Until) -> None:
    """What was not accepted may be asked again, and is then done."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            await post(gateway, REQUESTS, QUEUED, None)
            await until(lambda: len(made.received) == 1)
            busy = await post(gateway, DIRECT, {"prompt": "now"})
            made.let_go()
            await until(lambda: gateway.status().active_execution == "idle")
            free = await post(gateway, DIRECT, {"prompt": "now"})

        assert (busy.status, free.status) == (409, 200)

    asyncio.run(story())


def test_a_key_whose_answer_is_lost_leads_to_the_receipt(opened: Opener) -> None:
    """A gateway that died between accepting and answering does not do it again, and does not guess."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            key = key_of("k-1", DIRECT, ControlPrompt(prompt="hello"))
            assert key is not None
            past = DirectPrompt(kind="control_prompt", payload={"prompt": "hello"}, epoch=1)
            request_id = await gateway.receipts.accept(past, key=key)
            answer = await post(gateway, DIRECT, {"prompt": "hello"})

        assert (answer.status, made.received) == (409, [])
        assert f"/v1/requests/{request_id}" in answer.body["detail"]

    asyncio.run(story())


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256], ids=["empty", "two words", "not ASCII", "long"])
def test_a_key_is_a_short_visible_word(opened: Opener, key: str) -> None:
    """Anything else is refused before something happens."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            answer = await call(
                app.build(gateway), "POST", REQUESTS, QUEUED, headers={"idempotency-key": key}
            )

        assert (answer.status, answer.body["detail"][0]["loc"], made.received) == (
            422,
            ["header", "idempotency-key"],
            [],
        )

    asyncio.run(story())


def test_a_key_of_one_door_is_no_key_of_the_other(opened: Opener) -> None:
    """The same key at another route is another request, and refused."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            await post(gateway, REQUESTS, QUEUED)
            refused = await post(gateway, DIRECT, {"prompt": "hello"})

        assert refused.status == 422

    asyncio.run(story())

"""The routes for operators."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from starlette.responses import Response

from posthouse.gateway.http import openapi, operations
from posthouse.gateway.service import Gateway
from posthouse.testing.gateway import FakeAgent

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]


async def asked(path: str, gateway: Gateway) -> Response:
    [route] = [route for route in operations.ROUTES if route.path == path]
    answer = await route.handler(gateway, None)
    assert isinstance(answer, Response)
    return answer


def text(response: Response) -> str:
    return bytes(response.body).decode()


def test_a_gateway_is_ready_when_its_agent_would_get_a_prompt(opened: Opener) -> None:
    """Otherwise 503, with the reason in words and what it waits for."""

    async def story() -> None:
        agent = FakeAgent()
        async with opened(agent) as gateway:
            absent = await asked("/ready", gateway)
            agent.appear()
            await asyncio.sleep(0)
            while gateway.status().request_admission != "open":
                await asyncio.sleep(0.005)
            present = await asked("/ready", gateway)

        assert (absent.status_code, json.loads(text(absent))) == (
            503,
            {
                "ready": False,
                "reason": "the agent is not available",
                "request_admission": "blocked_unavailable",
                "agent": "unavailable",
                "queue_depth": 0,
                "background_failures": [],
            },
        )
        assert (present.status_code, json.loads(text(present))) == (
            200,
            {
                "ready": True,
                "reason": None,
                "request_admission": "open",
                "agent": "idle",
                "queue_depth": 0,
                "background_failures": [],
            },
        )

    asyncio.run(story())


def test_the_document_is_served_from_the_package(opened: Opener) -> None:
    """The same that is committed."""

    async def story() -> None:
        async with opened(FakeAgent()) as gateway:
            answer = await asked("/openapi.json", gateway)

        assert text(answer) == openapi.render()

    asyncio.run(story())


def test_the_page_names_every_route_and_loads_nothing(opened: Opener) -> None:
    """It works without a network, and could not run anything if it wanted to."""

    async def story() -> None:
        async with opened(FakeAgent()) as gateway:
            answer = await asked("/docs", gateway)

        page = text(answer)
        assert [path for path in openapi.document()["paths"] if f"<code>{path}</code>" not in page] == []
        assert not any(word in page for word in ("<script", "http://", "https://", "src="))
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"

    asyncio.run(story())

"""Control intents that wait together, as a gateway carries them out."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from pydantic import TypeAdapter

from posthouse.contracts.gateway_http import Request
from posthouse.gateway.service import Gateway
from posthouse.sessions.session import Session
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.running_gateways import is_at_rest

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
REQUEST: TypeAdapter[Any] = TypeAdapter(Request)
INTERRUPT = REQUEST.validate_python({"kind": "interrupt", "payload": {}})


def prompt(text: str) -> Any:
    return REQUEST.validate_python({"kind": "submit_prompt", "payload": {"prompt": text}})


def test_only_the_strongest_command_reaches_the_agent(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """What came while the agent was busy is reduced when it is ready, and an event tells it."""
    ids: list[str] = []

    async def story() -> None:
        made = FakeAgent(is_headless=False)
        made.appear()
        made.be_busy()
        async with opened(made) as gateway:
            for one in (prompt("/compact"), INTERRUPT, prompt("/new"), prompt("/clear"), prompt("then this")):
                ids.append((await gateway.submit(one)).request_id)
            made.be_ready()
            await until(lambda: is_at_rest(gateway))

        assert [one.text for one in made.received] == ["/new", "then this"]

    asyncio.run(story())

    lines = (made_session.gateway_root / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    (coalesced,) = [event for event in events if event["kind"] == "coalesced"]
    coalesced.pop("coalesced_at_utc")
    assert coalesced == {
        "kind": "coalesced",
        "coalesced_request_ids": [ids[0], ids[3]],
        "effective_request_ids": sorted((ids[1], ids[2])),
        "effective_actions": ["interrupt", "submit_prompt:/new"],
        "next_request_id": ids[1],
    }
    ended = [event["request_id"] for event in events if event["kind"] == "completed"]
    assert ended == [ids[1], ids[2], ids[4]]


def test_an_intent_that_comes_while_another_waits_joins_it(opened: Opener, until: Until) -> None:
    """What the worker had already chosen is chosen again when the agent is ready."""

    async def story() -> None:
        made = FakeAgent(is_headless=False)
        made.appear()
        made.be_busy()
        async with opened(made) as gateway:
            await gateway.submit(prompt("/clear"))
            await until(lambda: made.waits_begun == 1)
            await gateway.submit(prompt("/new"))
            made.be_ready()
            await until(lambda: is_at_rest(gateway))

        assert [one.text for one in made.received] == ["/new"]

    asyncio.run(story())

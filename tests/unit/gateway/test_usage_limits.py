"""A usage limit holds the queue, and lets it go."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

from posthouse.agent.adapter import Prompt
from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.testing.gateway import Answer, FakeAgent, call

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
QUEUED = {"kind": "submit_prompt", "payload": {"prompt": "queued"}}
LIMIT = "/v1/control/tui/limit"


async def ask(gateway: Gateway, method: str, path: str, body: dict[str, Any] | None = None) -> Answer:
    return await call(app.build(gateway), method, path, body)


def limited(seconds: float | None) -> FakeAgent:
    """An agent whose limit ends after *seconds*; None: it does not say."""
    made = FakeAgent(is_headless=False)
    made.appear()
    told = None if seconds is None else clock.iso_micros(clock.now() + timedelta(seconds=seconds))
    made.show("limited", resets=told)
    return made


def told(session: Session) -> list[str]:
    lines = (session.gateway_root / "events.jsonl").read_text().splitlines()
    return [event["kind"] for event in map(json.loads, lines) if "limit" in event["kind"]]


def test_what_waits_is_carried_out_after_the_reset_time(
    opened: Opener, made_session: Session, until: Until
) -> None:
    """It is accepted meanwhile, and nothing is failed for it."""

    async def story() -> None:
        made = limited(1.0)
        async with opened(made) as gateway:
            parked = (await ask(gateway, "GET", LIMIT)).body
            accepted = await ask(gateway, "POST", "/v1/requests", QUEUED)
            waiting = list(made.received)
            await until(lambda: [prompt.text for prompt in made.received] == ["queued"])
            after = (await ask(gateway, "GET", LIMIT)).body

        assert (parked["is_parked"], accepted.status, waiting) == (True, 202, [])
        assert parked["detail"].startswith("the agent's usage limit is reached; it goes on at ")
        assert after == {"is_parked": False, "resumes_at_utc": None, "detail": ""}
        assert told(made_session) == ["limited", "limit_over"]

    asyncio.run(story())


def test_the_user_may_let_it_go_on(opened: Opener, made_session: Session, until: Until) -> None:
    """A second time there is nothing to resume; the same limit does not hold the queue again."""

    async def story() -> None:
        made = limited(3600)
        async with opened(made) as gateway:
            await ask(gateway, "POST", "/v1/requests", QUEUED)
            resumed = await ask(gateway, "POST", f"{LIMIT}/resume")
            await until(lambda: bool(made.received))
            made.show("limited", resets=None)
            again = await ask(gateway, "POST", f"{LIMIT}/resume")

        assert (resumed.status, resumed.body["is_parked"], again.status) == (200, False, 409)
        assert [prompt.text for prompt in made.received] == ["queued"]
        assert told(made_session) == ["limited", "limit_over"]

    asyncio.run(story())


def test_a_limit_that_goes_away_by_itself_is_over(opened: Opener, until: Until) -> None:
    """The screen is believed, and the next limit holds the queue again."""

    async def story() -> None:
        made = limited(None)
        async with opened(made) as gateway:
            first = (await ask(gateway, "GET", LIMIT)).body
            made.show("ready")
            between = (await ask(gateway, "GET", LIMIT)).body["is_parked"]
            made.show("limited")
            second = (await ask(gateway, "GET", LIMIT)).body["is_parked"]

        assert "it goes on probably at " in first["detail"]
        assert (first["is_parked"], between, second) == (True, False, True)

    asyncio.run(story())


def test_a_direct_prompt_is_refused_unless_it_is_forced(opened: Opener) -> None:
    """Whoever insists may try."""

    async def story() -> None:
        made = limited(3600)
        async with opened(made) as gateway:
            refused = await ask(gateway, "POST", "/v1/control/prompt", {"prompt": "x"})
            forced = await ask(gateway, "POST", "/v1/control/prompt", {"prompt": "x", "force": True})

        assert (refused.status, forced.status, made.received) == (409, 200, [Prompt(text="x")])

    asyncio.run(story())

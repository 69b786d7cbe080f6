"""Raw keys over HTTP."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from posthouse.agent.adapter import AgentGone
from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.sessions.session import Session
from posthouse.terminal.keys import Key, LiteralText
from posthouse.testing.gateway import Answer, FakeAgent, call
from posthouse.testing.running_gateways import is_at_rest

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
QUEUED = {"kind": "submit_prompt", "payload": {"prompt": "queued"}}


def agent(*, is_headless: bool = False) -> FakeAgent:
    made = FakeAgent(is_headless=is_headless)
    made.appear()
    return made


async def send(gateway: Gateway, body: Mapping[str, Any]) -> Answer:
    return await call(app.build(gateway), "POST", "/v1/control/send-keys", body)


def test_keys_are_typed_in_order_and_told_without_their_text(opened: Opener, made_session: Session) -> None:
    """Answer and event have exactly the contract's fields."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            answer = await send(gateway, {"sequence": "/model<[Enter]><[Down]>"})
            escaped = await send(gateway, {"sequence": "a<[Enter]>", "escape_special_keys": True})

        assert (answer.status, answer.body) == (
            200,
            {
                "status": "ok",
                "action": "control_input",
                "detail": "Delivered control input to the local interactive session.",
            },
        )
        assert escaped.status == 200
        assert made.pressed == [
            (LiteralText("/model"), Key("Enter"), Key("Down")),
            (LiteralText("a<[Enter]>"),),
        ]

    asyncio.run(story())

    lines = (made_session.gateway_root / "events.jsonl").read_text().splitlines()
    told = [event for event in map(json.loads, lines) if event["kind"] == "control_input"]
    assert [{**event, "submitted_at_utc": ""} for event in told] == [
        {
            "kind": "control_input",
            "escape_special_keys": escape,
            "sequence_preview": None,
            "submitted_at_utc": "",
        }
        for escape in (False, True)
    ]


REFUSED = {
    "a token that is no key": ({"sequence": "ok<[F13]>"}, "<[F13]> is not a key"),
    "blank, even when literal": ({"sequence": " ", "escape_special_keys": True}, "sequence"),
    "a schema version": ({"schema_version": 1, "sequence": "x"}, "schema_version"),
}


@pytest.mark.parametrize(("body", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_sequence_types_nothing(opened: Opener, body: Mapping[str, Any], words: str) -> None:
    """422, and not one key of it reached the terminal."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            answer = await send(gateway, body)

        assert (answer.status, words in json.dumps(answer.body), made.pressed) == (422, True, [])

    asyncio.run(story())


def test_a_headless_agent_takes_no_keys(opened: Opener, until: Until) -> None:
    """422 with a text at once, also while a turn holds the slot."""

    async def story() -> None:
        made = agent(is_headless=True)
        made.hold()
        async with opened(made) as gateway:
            await call(app.build(gateway), "POST", "/v1/requests", QUEUED)
            await until(lambda: len(made.received) == 1)
            answer = await send(gateway, {"sequence": "x"})
            made.let_go()

        assert (answer.status, answer.body) == (
            422,
            {"detail": "raw keys are for TUIs; this agent is headless: give it a prompt"},
        )

    asyncio.run(story())


def test_an_absent_or_replaced_agent_takes_no_keys(opened: Opener) -> None:
    """503 and 409, as for every request."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            made.vanish()
            absent = await send(gateway, {"sequence": "x"})
            made.appear("another", is_known=False)
            replaced = await send(gateway, {"sequence": "x"})

        assert (absent.status, replaced.status, made.pressed) == (503, 409, [])

    asyncio.run(story())


def test_a_terminal_that_fails_is_told_as_the_contract_says(opened: Opener) -> None:
    """422 with the terminal's words; nothing is claimed about what was typed."""

    async def story() -> None:
        made = agent()
        made.failure = AgentGone("its tmux session ended")
        async with opened(made) as gateway:
            answer = await send(gateway, {"sequence": "x"})

        assert (answer.status, answer.body) == (
            422,
            {"detail": "the keys could not be typed: its tmux session ended"},
        )

    asyncio.run(story())


def test_keys_pass_a_prompt_that_waits_for_the_agent(opened: Opener, until: Until) -> None:
    """A dialog can be answered although a request waits behind it."""

    async def story() -> None:
        made = agent()
        made.be_busy()
        async with opened(made) as gateway:
            await call(app.build(gateway), "POST", "/v1/requests", QUEUED)
            await until(lambda: made.waits_begun > 0)
            answer = await send(gateway, {"sequence": "<[Escape]>"})

        assert (answer.status, made.pressed) == (200, [(Key("Escape"),)])

    asyncio.run(story())


def test_keys_do_not_go_into_a_paste(opened: Opener, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its patience, 409 says what is being typed, and nothing was."""
    # Two seconds are too long to wait for in a test.
    monkeypatch.setattr("posthouse.gateway.control.keys.WAIT_SECONDS", 0.01)

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            await call(app.build(gateway), "POST", "/v1/requests", QUEUED)
            await until(lambda: len(made.received) == 1)
            answer = await send(gateway, {"sequence": "x"})
            made.let_go()
            await until(lambda: is_at_rest(gateway))

        assert (answer.status, made.pressed) == (409, [])
        assert answer.body["detail"].endswith("is being given to the agent right now; try again in a moment")

    asyncio.run(story())

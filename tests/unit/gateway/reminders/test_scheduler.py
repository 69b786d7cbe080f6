"""When reminders are delivered, when they wait, and what their story says."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from posthouse.agent.adapter import AgentBusy, PromptFailed
from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.sessions.session import Session
from posthouse.terminal.keys import Key, LiteralText
from posthouse.testing.gateway import FakeAgent, call

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
NOW: dict[str, Any] = {
    "mode": "one_off",
    "title": "Now",
    "prompt": "whisper",
    "ranking": 0,
    "deliver_at_utc": "2020-01-01T00:00:00Z",
}


def agent(*, is_headless: bool = True) -> FakeAgent:
    made = FakeAgent(is_headless=is_headless)
    made.appear()
    return made


async def create(gateway: Gateway, *definitions: Mapping[str, Any]) -> list[Any]:
    body = {"reminders": list(definitions)}
    answer = await call(app.build(gateway), "POST", "/v1/reminders", body)
    assert answer.status == 200, answer.body
    made: list[Any] = answer.body["reminders"]
    return made


def events(session: Session) -> list[dict[str, Any]]:
    lines = (session.gateway_root / "events.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines]
    return [event for event in told if event["kind"] != "request_stage"]


def kinds(session: Session) -> list[str]:
    return [event["kind"] for event in events(session)]


def is_over(gateway: Gateway) -> Callable[[], bool]:
    return lambda: gateway.reminders.list_all().reminders == []


def test_a_due_prompt_is_delivered_once_and_forgotten(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """A time that has passed is due at once; the events have no prompt."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            await create(gateway, NOW)
            await until(is_over(gateway))

        assert [prompt.text for prompt in made.received] == ["whisper"]

    asyncio.run(story())

    assert kinds(made_session) == ["reminder_registered", "reminder_started", "reminder_completed"]
    started, completed = events(made_session)[1:]
    assert sorted(started) == [
        "delete_requested",
        "delivery_kind",
        "ensure_enter",
        "kind",
        "mode",
        "paused",
        "ranking",
        "reminder_id",
        "sequence_preview",
        "started_at_utc",
    ]
    assert sorted(completed) == ["finished_at_utc", "kind", "next_due_at_utc", "reminder_id"]
    assert completed["next_due_at_utc"] is None
    assert "whisper" not in (made_session.gateway_root / "events.jsonl").read_text()


def test_keys_are_typed_with_one_enter_unless_told_otherwise(opened: Opener, until: Until) -> None:
    """Neither title nor prompt is typed with them."""
    enter = {"sequence": "/x<[Enter]><[Enter]>"}
    exact = {"sequence": "<[Escape]>", "ensure_enter": False}

    async def story() -> None:
        made = agent(is_headless=False)
        async with opened(made) as gateway:
            await create(
                gateway,
                {**NOW, "prompt": None, "send_keys": enter},
                {**NOW, "prompt": None, "send_keys": exact},
            )
            await until(is_over(gateway))

        assert made.pressed == [(LiteralText("/x"), Key("Enter")), (Key("Escape"),)]
        assert made.received == []

    asyncio.run(story())


def test_one_that_fails_is_told_and_forgotten(opened: Opener, until: Until, made_session: Session) -> None:
    """Whether the agent or we ourselves failed, the next is delivered."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            for failure in (PromptFailed("the turn ended badly"), RuntimeError("secret words")):
                made.failure = failure
                await create(gateway, NOW)
                await until(is_over(gateway))
            await create(gateway, NOW)
            await until(is_over(gateway))

    asyncio.run(story())

    told = [event for event in events(made_session) if event["kind"] == "reminder_failed"]
    assert [event["error_detail"] for event in told] == [
        "the turn ended badly",
        "the gateway failed: RuntimeError; its log has the details",
    ]
    assert kinds(made_session)[-1] == "reminder_completed"


def test_one_that_reached_nobody_stays_due(opened: Opener, until: Until, made_session: Session) -> None:
    """An agent that turned busy at the last moment costs no reminder."""

    async def story() -> None:
        made = agent()
        made.failure = AgentBusy("somebody is typing")
        async with opened(made) as gateway:
            await create(gateway, NOW)
            await until(is_over(gateway))

        assert len(made.received) == 2

    asyncio.run(story())

    assert kinds(made_session)[1:] == [
        "reminder_started",
        "reminder_deferred",
        "reminder_started",
        "reminder_completed",
    ]


def test_a_paused_effective_reminder_holds_back_all_behind_it(opened: Opener, until: Until) -> None:
    """Until it is changed or deleted, nothing is delivered."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            first, _ = await create(
                gateway, {**NOW, "ranking": -1, "paused": True}, {**NOW, "prompt": "behind"}
            )
            # A whole round of the loop, which would have delivered it.
            await create(gateway, {**NOW, "ranking": 9, "prompt": "last"})
            await until(lambda: not gateway.reminders.changed.is_set())
            assert made.received == []
            await call(app.build(gateway), "DELETE", f"/v1/reminders/{first['reminder_id']}")
            await until(is_over(gateway))

        assert [one.text for one in made.received] == ["behind", "last"]

    asyncio.run(story())


def test_a_busy_gateway_puts_them_off_and_says_so_once(
    opened: Opener, until: Until, made_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Overdue until the queue is empty and nothing runs; that moment wakes it, not the next look."""
    monkeypatch.setattr("posthouse.gateway.reminders.scheduler._POLL_SECONDS", 3600.0)

    async def story() -> None:
        made = agent()
        made.hold()
        queued = {"kind": "submit_prompt", "payload": {"prompt": "queued"}}
        async with opened(made) as gateway:
            await call(app.build(gateway), "POST", "/v1/requests", queued)
            await until(lambda: len(made.received) == 1)
            await create(gateway, NOW)
            await until(lambda: "reminder_deferred" in kinds(made_session))
            for _ in range(3):
                gateway.reminders.changed.set()
                await until(lambda: not gateway.reminders.changed.is_set())
            state = gateway.reminders.list_all().reminders[0].delivery_state
            made.let_go()
            await until(is_over(gateway))

        assert (state, [one.text for one in made.received]) == ("overdue", ["queued", "whisper"])

    asyncio.run(story())

    deferred = [event for event in events(made_session) if event["kind"] == "reminder_deferred"]
    assert [event["detail"] for event in deferred] == ["another request is executing"]
    assert sorted(deferred[0]) == [
        "delivery_kind",
        "detail",
        "kind",
        "mode",
        "next_due_at_utc",
        "ranking",
        "reminder_id",
    ]


def test_a_prompt_waits_until_the_agent_is_ready_and_keys_do_not(opened: Opener, until: Until) -> None:
    """Waiting holds nothing: the gateway is idle meanwhile."""

    async def story() -> None:
        made = agent(is_headless=False)
        made.be_busy()
        async with opened(made) as gateway:
            keys = {"sequence": "<[Escape]>", "ensure_enter": False}
            await create(gateway, {**NOW, "ranking": -1, "prompt": None, "send_keys": keys}, NOW)
            await until(lambda: made.waits_begun > 0 and len(made.pressed) == 1)
            assert (made.received, gateway.status().active_execution) == ([], "idle")
            made.be_ready()
            await until(is_over(gateway))

        assert [prompt.text for prompt in made.received] == ["whisper"]

    asyncio.run(story())


def test_an_absent_agent_gets_its_reminder_when_it_is_back(opened: Opener, until: Until) -> None:
    """The reminder is not spent on nobody."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            made.vanish()
            await create(gateway, NOW)
            await until(lambda: not gateway.reminders.changed.is_set())
            assert made.received == []
            made.appear()
            await until(is_over(gateway))

        assert [prompt.text for prompt in made.received] == ["whisper"]

    asyncio.run(story())


def test_a_repeating_one_comes_again(opened: Opener, until: Until, made_session: Session) -> None:
    """Each end tells when it is due next."""
    repeat = {**NOW, "mode": "repeat", "interval_seconds": 0.02}

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            await create(gateway, repeat)
            await until(lambda: len(made.received) >= 3)

    asyncio.run(story())

    ended = [event for event in events(made_session) if event["kind"] == "reminder_completed"]
    assert all(event["next_due_at_utc"] > event["finished_at_utc"] for event in ended)


def test_reminders_end_with_their_gateway_and_that_is_told(opened: Opener, made_session: Session) -> None:
    """Once: the next gateway knows none, and does not tell it again."""
    later = {**NOW, "deliver_at_utc": "2090-01-01T00:00:00Z"}

    async def story() -> None:
        async with opened(agent()) as gateway:
            await create(gateway, later, {**later, "ranking": 4, "paused": True})
        assert kinds(made_session)[2:] == ["reminder_lost_on_restart"] * 2
        async with opened(agent()) as gateway:
            assert gateway.reminders.list_all().reminders == []

    asyncio.run(story())

    lost = [event for event in events(made_session) if event["kind"] == "reminder_lost_on_restart"]
    assert [{**event, "reminder_id": ""} for event in lost] == [
        {
            "kind": "reminder_lost_on_restart",
            "reminder_id": "",
            "mode": "one_off",
            "delivery_kind": "prompt",
            "ranking": ranking,
            "paused": paused,
            "selection_state": selection,
            "delivery_state": "scheduled",
            "next_due_at_utc": "2090-01-01T00:00:00.000000+00:00",
        }
        for ranking, paused, selection in ((0, False, "effective"), (4, True, "blocked"))
    ]

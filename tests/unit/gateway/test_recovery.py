"""What an earlier gateway left behind."""

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from pydantic import TypeAdapter

from posthouse.agent.adapter import PromptResult
from posthouse.contracts.gateway_http import Request
from posthouse.gateway.service import Gateway
from posthouse.gateway.worker import STOPPED
from posthouse.sessions.session import Session
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.running_gateways import is_at_rest
from posthouse.turns.folder import BadTurnRecord

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
REQUEST: TypeAdapter[Any] = TypeAdapter(Request)


def prompt(text: str, **more: object) -> Any:
    return REQUEST.validate_python({"kind": "submit_prompt", "payload": {"prompt": text, **more}})


def agent() -> FakeAgent:
    made = FakeAgent()
    made.appear()
    return made


def events(session: Session) -> list[dict[str, Any]]:
    lines = (session.gateway_root / "events.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def reasons(session: Session) -> list[tuple[str, str | None]]:
    with sqlite3.connect(session.gateway_root / "queue.sqlite") as connection:
        return connection.execute(
            "SELECT state, error_detail FROM gateway_requests ORDER BY rowid"
        ).fetchall()


def test_a_turn_that_was_left_running_is_waited_for_and_its_end_recorded(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """Nothing starts before it has ended; its request stays failed and says how the turn ended."""

    async def story() -> None:
        first, second = agent(), agent()
        first.hold()
        async with opened(first) as gateway:
            await gateway.submit(prompt("long", turn_id="turn-left"))
            await gateway.submit(prompt("next"))
            await until(lambda: len(first.received) == 1)
        second.left_turns = {"turn-left": "completed"}
        async with opened(second) as gateway:
            await until(lambda: second.waits_ended == 1)
            # Whatever the worker asks of the queue by now is answered before this is.
            await gateway.submit(prompt("last"))
            waiting = gateway.status()
            assert second.received == []
            second.end_left_turns()
            await until(lambda: is_at_rest(gateway))

        assert (waiting.active_execution, waiting.queue_depth) == ("running", 2)
        assert [one.text for one in second.received] == ["next", "last"]

    asyncio.run(story())

    error = f"{STOPPED}; later its turn was found completed"
    assert reasons(made_session) == [("failed", error), ("completed", None), ("completed", None)]
    (told,) = [event for event in events(made_session) if event["kind"] == "left_turn_ended"]
    assert (told["turn_id"], told["outcome"], told["error_detail"]) == ("turn-left", "completed", error)


def test_a_left_turn_whose_files_are_bad_ends_as_unknown_and_the_others_are_settled(
    opened: Opener, until: Until, made_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent can write into the folder of its turn."""

    async def bad(turn_id: str) -> PromptResult | None:
        if turn_id == "turn-0":
            raise BadTurnRecord("run.json can't be used")
        return PromptResult(outcome="completed")

    async def story() -> None:
        first, second = agent(), agent()
        first.hold()
        async with opened(first) as gateway:
            await gateway.submit(prompt("long", turn_id="turn-0"))
            await until(lambda: len(first.received) == 1)
        with sqlite3.connect(made_session.gateway_root / "queue.sqlite") as connection:
            connection.execute("INSERT INTO posthouse_turns (request_id, turn_id) VALUES ('other', 'turn-1')")
        monkeypatch.setattr(second, "turn_result", bad)
        async with opened(second) as gateway:
            await gateway.submit(prompt("next"))
            await until(lambda: is_at_rest(gateway))

    asyncio.run(story())

    with sqlite3.connect(made_session.gateway_root / "queue.sqlite") as connection:
        ends = dict(connection.execute("SELECT turn_id, outcome FROM posthouse_turns"))
    assert (ends["turn-0"], ends["turn-1"]) == ("unknown", "completed")


def test_a_turn_that_never_began_holds_nobody_up(opened: Opener, until: Until, made_session: Session) -> None:
    """A gateway that died between its decision and the turn leaves a request that says so."""

    async def story() -> None:
        first = agent()
        first.hold()
        async with opened(first) as gateway:
            await gateway.submit(prompt("long"))
            await until(lambda: len(first.received) == 1)
        async with opened(agent()) as gateway:
            await gateway.submit(prompt("next"))
            await until(lambda: is_at_rest(gateway))

    asyncio.run(story())

    assert reasons(made_session) == [
        ("failed", f"{STOPPED}; later its turn was found never begun"),
        ("completed", None),
    ]


def test_every_headless_turn_has_its_id_before_it_begins(opened: Opener, until: Until) -> None:
    """The caller's, or one of ours; a TUI's prompt has none."""

    async def story() -> None:
        headless, tui = agent(), FakeAgent(is_headless=False)
        tui.appear()
        async with opened(headless) as gateway:
            await gateway.submit(prompt("one", turn_id="mine"))
            await gateway.submit(prompt("two"))
            await until(lambda: is_at_rest(gateway))
        async with opened(tui) as gateway:
            await gateway.submit(prompt("three"))
            await until(lambda: is_at_rest(gateway))

        ids = [one.turn_id for one in (*headless.received, *tui.received)]
        assert (ids[0], str(ids[1])[:5], ids[2]) == ("mine", "turn-", None)

    asyncio.run(story())


def test_a_queue_that_was_set_aside_is_said_aloud(opened: Opener, made_session: Session) -> None:
    """The log, the events and the folder tell of it; the gateway serves."""
    root = made_session.gateway_root
    (root / "queue.sqlite").write_bytes(b"rubbish" * 1000)

    async def story() -> None:
        async with opened(agent()) as gateway:
            await gateway.submit(prompt("hello"))

    asyncio.run(story())

    (kept,) = root.glob("queue.sqlite.corrupt-*")
    told = events(made_session)[0]
    assert (told["kind"], told["kept_as"], told["reason"]) == (
        "queue_set_aside",
        kept.name,
        "file is not a database",
    )
    assert "the queue was unreadable and was set aside" in (root / "logs/gateway.log").read_text()


def test_what_ran_when_the_last_gateway_died_is_told(opened: Opener, made_session: Session) -> None:
    """The history has an end for every request that began."""

    async def story() -> None:
        async with opened(agent()):
            pass
        with sqlite3.connect(made_session.gateway_root / "queue.sqlite") as connection:
            connection.execute(
                "INSERT INTO gateway_requests VALUES"
                " ('r', 'submit_prompt', '{}', 'running', 't', 't', NULL, 1, NULL, NULL)"
            )
        async with opened(agent()):
            pass

    asyncio.run(story())

    (told,) = events(made_session)
    assert (told["kind"], told["request_id"], told["error_detail"] is None) == ("failed", "r", False)

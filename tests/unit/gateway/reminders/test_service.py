"""Reminders over HTTP: what is kept, in which order, and what is refused."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from posthouse.gateway.http import app
from posthouse.gateway.reminders.service import MAX_REMINDERS
from posthouse.gateway.service import Gateway
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.testing.gateway import Answer, FakeAgent, call

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
PATH = "/v1/reminders"
LATER: dict[str, Any] = {
    "mode": "one_off",
    "title": "Later",
    "prompt": "whisper",
    "ranking": 0,
    "start_after_seconds": 3600,
}


def agent(*, is_headless: bool = True) -> FakeAgent:
    made = FakeAgent(is_headless=is_headless)
    made.appear()
    return made


async def ask(gateway: Gateway, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
    return await call(app.build(gateway), method, path, body)


async def create(gateway: Gateway, *definitions: Mapping[str, Any]) -> Answer:
    return await ask(gateway, "POST", PATH, {"schema_version": 1, "reminders": list(definitions)})


def events(session: Session) -> list[dict[str, Any]]:
    lines = (session.gateway_root / "events.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_reminder_has_exactly_the_contracts_fields(opened: Opener, made_session: Session) -> None:
    """Answer and event agree, and the event has no prompt."""
    repeat = {**LATER, "mode": "repeat", "interval_seconds": 300, "ranking": -10}

    async def story() -> Any:
        async with opened(agent()) as gateway:
            return await create(gateway, repeat)

    answer = asyncio.run(story())

    reminder = answer.body["reminders"][0]
    created, due = clock.parse(reminder["created_at_utc"]), clock.parse(reminder["next_due_at_utc"])
    assert (answer.status, (due - created).total_seconds()) == (200, 3600)
    assert answer.body == {
        "schema_version": 1,
        "effective_reminder_id": reminder["reminder_id"],
        "reminders": [
            {
                "schema_version": 1,
                "reminder_id": reminder["reminder_id"],
                "mode": "repeat",
                "delivery_kind": "prompt",
                "title": "Later",
                "prompt": "whisper",
                "send_keys": None,
                "ranking": -10,
                "paused": False,
                "selection_state": "effective",
                "delivery_state": "scheduled",
                "created_at_utc": reminder["created_at_utc"],
                "next_due_at_utc": reminder["next_due_at_utc"],
                "interval_seconds": 300.0,
                "last_started_at_utc": None,
                "blocked_by_reminder_id": None,
            }
        ],
    }
    assert events(made_session)[0] == {
        "kind": "reminder_registered",
        "reminder_id": reminder["reminder_id"],
        "mode": "repeat",
        "delivery_kind": "prompt",
        "title": "Later",
        "ranking": -10,
        "paused": False,
        "prompt_preview": None,
        "sequence_preview": None,
        "ensure_enter": None,
        "created_at_utc": reminder["created_at_utc"],
        "next_due_at_utc": reminder["next_due_at_utc"],
        "interval_seconds": 300.0,
    }


def test_the_smallest_ranking_is_effective_and_blocks_the_others(opened: Opener) -> None:
    """Even when it is paused and not due; equal rankings go by age."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            await create(
                gateway,
                {**LATER, "title": "c", "ranking": 5, "start_after_seconds": 0.001},
                {**LATER, "title": "b", "ranking": 1},
                {**LATER, "title": "a", "ranking": -1, "paused": True},
                {**LATER, "title": "b again", "ranking": 1},
            )
            listed = (await ask(gateway, "GET", PATH)).body

        first = listed["effective_reminder_id"]
        shown = [
            (one["title"], one["selection_state"], one["blocked_by_reminder_id"])
            for one in listed["reminders"]
        ]
        assert first == listed["reminders"][0]["reminder_id"]
        assert shown == [
            ("a", "effective", None),
            ("b", "blocked", first),
            ("b again", "blocked", first),
            ("c", "blocked", first),
        ]

    asyncio.run(story())


def test_a_put_replaces_everything_and_counts_from_now(opened: Opener, made_session: Session) -> None:
    """Id and age stay, and who is effective is decided anew."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            made = (await create(gateway, LATER, {**LATER, "title": "Other"})).body["reminders"]
            path = f"{PATH}/{made[1]['reminder_id']}"
            new = {**LATER, "title": "First", "ranking": -5, "paused": True, "start_after_seconds": 10}
            put = await ask(gateway, "PUT", path, {"schema_version": 1, **new})
            got = await ask(gateway, "GET", path)

        assert (put.status, put.body) == (200, got.body)
        shown = {key: put.body[key] for key in ("title", "ranking", "paused", "selection_state")}
        assert shown == {"title": "First", "ranking": -5, "paused": True, "selection_state": "effective"}
        assert put.body["created_at_utc"] == made[1]["created_at_utc"]
        assert put.body["next_due_at_utc"] < made[1]["next_due_at_utc"]

    asyncio.run(story())

    updated = events(made_session)[2]
    assert (updated["kind"], "created_at_utc" in updated, "whisper" in str(updated)) == (
        "reminder_updated",
        False,
        False,
    )


def test_a_deleted_reminder_is_gone_at_once(opened: Opener, made_session: Session) -> None:
    """A second delete is 404, and so is every other question."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            reminder_id = (await create(gateway, LATER)).body["effective_reminder_id"]
            path = f"{PATH}/{reminder_id}"
            deleted = await ask(gateway, "DELETE", path)
            later = [
                await ask(gateway, "DELETE", path),
                await ask(gateway, "GET", path),
                await ask(gateway, "PUT", path, LATER),
            ]
            listed = await ask(gateway, "GET", PATH)

        assert (deleted.status, deleted.body) == (
            200,
            {
                "schema_version": 1,
                "status": "ok",
                "action": "delete_reminder",
                "reminder_id": reminder_id,
                "deleted": True,
                "detail": "Deleted before it was delivered.",
            },
        )
        assert [answer.status for answer in later] == [404, 404, 404]
        assert listed.body == {"schema_version": 1, "effective_reminder_id": None, "reminders": []}

    asyncio.run(story())

    told = events(made_session)[1]
    assert (told["kind"], told["executing"], told["delete_requested"]) == ("reminder_deleted", False, True)


INVALID: dict[str, dict[str, Any]] = {
    "neither prompt nor keys": {"prompt": None},
    "prompt and keys": {"send_keys": {"sequence": "x"}},
    "a blank prompt": {"prompt": " "},
    "a blank title": {"title": ""},
    "no time": {"start_after_seconds": None},
    "two times": {"deliver_at_utc": "2030-01-01T00:00:00Z"},
    "a repeat without interval": {"mode": "repeat"},
    "an interval for once": {"interval_seconds": 5},
    "a time that is none": {"start_after_seconds": None, "deliver_at_utc": "tomorrow"},
    "a time before all times": {"start_after_seconds": None, "deliver_at_utc": "0001-01-01T00:00:00+14:00"},
    "no seconds": {"start_after_seconds": 0},
    "seconds as text": {"start_after_seconds": "5"},
    "seconds as truth": {"start_after_seconds": True},
    "more seconds than there are dates": {"start_after_seconds": 1e300},
    "a ranking with a fraction": {"ranking": 1.5},
    "a number for paused": {"paused": 1},
    "a field too many": {"escape_special_keys": True},
}


@pytest.mark.parametrize("change", INVALID.values(), ids=INVALID.keys())
def test_one_bad_definition_refuses_the_whole_batch(opened: Opener, change: dict[str, Any]) -> None:
    """422 in the shape of FastAPI, and none is kept."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            answer = await create(gateway, LATER, {**LATER, **change})
            kept = (await ask(gateway, "GET", PATH)).body["reminders"]

        assert (answer.status, kept) == (422, [])
        assert answer.body["detail"][0]["loc"][:3] == ["body", "reminders", 1]

    asyncio.run(story())


def test_an_empty_batch_is_422(opened: Opener) -> None:
    """There is nothing to remind of."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            assert (await create(gateway)).status == 422

    asyncio.run(story())


KEYS: dict[str, tuple[bool, str]] = {
    "a headless agent takes no keys": (True, "x"),
    "there is no such key": (False, "<[F13]>"),
}


@pytest.mark.parametrize(("is_headless", "sequence"), KEYS.values(), ids=KEYS.keys())
def test_keys_that_could_never_be_typed_are_refused_at_once(
    opened: Opener, is_headless: bool, sequence: str
) -> None:
    """Whole batches at create, and a put as well; the old definition stays."""
    keys = {**LATER, "prompt": None, "send_keys": {"sequence": sequence}}

    async def story() -> None:
        async with opened(agent(is_headless=is_headless)) as gateway:
            refused = await create(gateway, LATER, keys)
            reminder_id = (await create(gateway, LATER)).body["effective_reminder_id"]
            put = await ask(gateway, "PUT", f"{PATH}/{reminder_id}", keys)
            listed = (await ask(gateway, "GET", PATH)).body["reminders"]

        assert (refused.status, put.status) == (422, 422)
        assert [(one["reminder_id"], one["prompt"]) for one in listed] == [(reminder_id, "whisper")]

    asyncio.run(story())


def test_there_is_room_for_so_many(opened: Opener) -> None:
    """A caller that never stops is told to."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            full = await create(gateway, *[LATER] * MAX_REMINDERS)
            more = await create(gateway, LATER)

        assert (full.status, more.status) == (200, 409)

    asyncio.run(story())


def test_a_reminder_that_is_being_delivered_can_not_be_changed(opened: Opener, until: Until) -> None:
    """409 for a put; a delete lets it finish, and it never comes again."""
    now = {**LATER, "mode": "repeat", "interval_seconds": 0.01, "start_after_seconds": 0.001}

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            reminder_id = (await create(gateway, now)).body["effective_reminder_id"]
            path = f"{PATH}/{reminder_id}"
            await until(lambda: len(made.received) == 1)
            put = await ask(gateway, "PUT", path, LATER)
            deleted = await ask(gateway, "DELETE", path)
            during = await ask(gateway, "GET", path)
            running = gateway.status().active_execution
            made.let_go()
            await until(lambda: gateway.reminders.list_all().reminders == [])

        assert (put.status, deleted.status, deleted.body["deleted"]) == (409, 200, True)
        assert (during.body["delivery_state"], running) == ("executing", "running")
        assert len(made.received) == 1

    asyncio.run(story())

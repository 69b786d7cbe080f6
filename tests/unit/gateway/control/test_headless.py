"""What a headless agent can be asked, and the one-shot override of its next conversation."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from msgspec import structs

from posthouse.contracts.manifest import Headless, Manifest
from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.testing.gateway import Answer, FakeAgent, call
from posthouse.testing.running_gateways import is_at_rest

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
OVERRIDE = "/v1/control/headless/next-prompt-session"
FRESH: dict[str, Any] = {
    "schema_version": 1,
    "runtime_resumable": True,
    "tmux_session_live": True,
    "can_accept_prompt_now": True,
    "interruptible": False,
    "chat_session": {
        "current": None,
        "startup_default": {"mode": "new", "id": None},
        "next_prompt_override": None,
    },
    "request_admission": "open",
    "active_execution": "idle",
    "queue_depth": 0,
    "active_turn_id": None,
}


def agent(*, is_headless: bool = True) -> FakeAgent:
    made = FakeAgent(is_headless=is_headless)
    made.appear()
    return made


async def ask(gateway: Gateway, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
    return await call(app.build(gateway), method, path, body)


async def state(gateway: Gateway) -> Any:
    return (await ask(gateway, "GET", "/v1/control/headless/state")).body


def change(session: Session, **fields: Any) -> None:
    def changed(manifest: Manifest) -> Manifest:
        assert manifest.headless is not None
        headless: Headless = structs.replace(manifest.headless, **fields)
        return structs.replace(manifest, headless=headless)

    sessions.update(session, changed)


def test_an_idle_agent_can_be_asked(opened: Opener) -> None:
    """Every field is there, nulls written."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            assert await state(gateway) == FRESH

    asyncio.run(story())


CHATS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "pinned": ({"session_id": "chat-1"}, {"current": {"id": "chat-1"}}),
    "the last one first": (
        {"resume_selection_kind": "last"},
        {"startup_default": {"mode": "tool_last_or_new", "id": None}},
    ),
    "a given one first": (
        {"resume_selection_kind": "exact", "resume_selection_value": "chat-2"},
        {"startup_default": {"mode": "exact", "id": "chat-2"}},
    ),
}


@pytest.mark.parametrize(("fields", "told"), CHATS.values(), ids=CHATS.keys())
def test_conversations_are_as_the_manifest_says_now(
    opened: Opener, made_session: Session, fields: dict[str, Any], told: dict[str, Any]
) -> None:
    """A turn that changed the manifest shows without a restart."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            change(made_session, **fields)
            shown = await state(gateway)

        assert shown["chat_session"] == {**FRESH["chat_session"], **told}

    asyncio.run(story())


def test_a_direct_turn_shows_until_it_ends(opened: Opener, until: Until) -> None:
    """It has its id, can be interrupted, and nothing else can be asked."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            await ask(gateway, "POST", "/v1/control/prompt", {"prompt": "x"})
            await until(lambda: len(made.received) == 1)
            during = await state(gateway)
            made.let_go()
            await until(lambda: gateway.status().active_execution == "idle")
            assert await state(gateway) == FRESH

        assert during == {
            **FRESH,
            "can_accept_prompt_now": False,
            "interruptible": True,
            "active_execution": "running",
            "active_turn_id": made.received[0].turn_id,
        }

    asyncio.run(story())


def test_an_admitted_turn_shows_before_it_runs(opened: Opener, until: Until) -> None:
    """The state has its id while it waits for its turn."""

    async def story() -> None:
        made = agent()
        made.be_busy()
        async with opened(made) as gateway:
            answer = await ask(gateway, "POST", "/v1/control/prompt", {"prompt": "x"})
            await until(lambda: made.waits_begun > 0)
            waiting = await state(gateway)
            made.be_ready()
            await until(lambda: gateway.status().active_execution == "idle")

        assert answer.status == 200
        assert waiting["active_turn_id"] == made.received[0].turn_id

    asyncio.run(story())


def test_a_queued_turn_shows_by_its_id(opened: Opener, until: Until) -> None:
    """Also before it runs."""

    async def story() -> None:
        made = agent()
        made.be_busy()
        queued = {"kind": "submit_prompt", "payload": {"prompt": "x", "turn_id": "turn-mine"}}
        async with opened(made) as gateway:
            await ask(gateway, "POST", "/v1/requests", queued)
            await until(lambda: made.waits_begun > 0)
            waiting = await state(gateway)

        assert (waiting["active_turn_id"], waiting["queue_depth"]) == ("turn-mine", 1)
        assert (waiting["can_accept_prompt_now"], waiting["interruptible"]) == (False, True)

    asyncio.run(story())


def test_an_absent_agent_can_not_be_asked(opened: Opener) -> None:
    """The state is told all the same."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            made.vanish()
            assert await state(gateway) == {
                **FRESH,
                "runtime_resumable": False,
                "tmux_session_live": False,
                "can_accept_prompt_now": False,
                "request_admission": "blocked_unavailable",
            }

    asyncio.run(story())


def test_the_override_is_taken_by_the_next_prompt_without_a_wish(opened: Opener, until: Until) -> None:
    """Explicit wishes leave it, `auto` takes it like nothing said, and then it is gone."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            set_once = await ask(gateway, "POST", OVERRIDE, {"mode": "new"})
            set_twice = await ask(gateway, "POST", OVERRIDE, {"schema_version": 1, "mode": "new"})
            for chat in ({"mode": "exact", "id": "c"}, {"mode": "tool_last_or_new"}, {"mode": "auto"}, None):
                body = {"prompt": "x", "chat_session": chat}
                assert (await ask(gateway, "POST", "/v1/control/prompt", body)).status == 200
                await until(lambda: gateway.status().active_execution == "idle")
            after = await state(gateway)

        assert set_once.body == set_twice.body
        assert set_once.body["chat_session"]["next_prompt_override"] == {"mode": "new"}
        assert [one.chat_mode for one in made.received] == ["exact", "tool_last_or_new", "new", None]
        assert after == FRESH

    asyncio.run(story())


def test_refused_and_queued_prompts_do_not_take_the_override(opened: Opener, until: Until) -> None:
    """It waits for an accepted direct prompt."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            await ask(gateway, "POST", OVERRIDE, {"mode": "new"})
            await ask(gateway, "POST", "/v1/requests", {"kind": "submit_prompt", "payload": {"prompt": "q"}})
            await until(lambda: len(made.received) == 1)
            refused = await ask(gateway, "POST", "/v1/control/prompt", {"prompt": "x"})
            kept = (await state(gateway))["chat_session"]["next_prompt_override"]
            made.let_go()
            await until(lambda: is_at_rest(gateway))

        assert (refused.status, kept, made.received[0].chat_mode) == (409, {"mode": "new"}, None)

    asyncio.run(story())


@pytest.mark.parametrize("mode", ["current", "exact", None])
def test_the_override_knows_only_new(opened: Opener, mode: str | None) -> None:
    """Everything else is 422."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            assert (await ask(gateway, "POST", OVERRIDE, {"mode": mode})).status == 422

    asyncio.run(story())


def test_a_tui_has_no_headless_state(opened: Opener) -> None:
    """422 with a text that says where to look."""

    async def story() -> None:
        async with opened(agent(is_headless=False)) as gateway:
            answers = [
                await ask(gateway, "GET", "/v1/control/headless/state"),
                await ask(gateway, "POST", OVERRIDE, {"mode": "new"}),
            ]

        detail = {"detail": "this agent is a TUI; /v1/control/tui/state shows it"}
        assert [(answer.status, answer.body) for answer in answers] == [(422, detail)] * 2

    asyncio.run(story())


def test_a_manifest_that_can_not_be_read_is_503(opened: Opener, made_session: Session) -> None:
    """Nobody guesses which conversations there are."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            content = made_session.manifest_path.read_bytes()
            made_session.manifest_path.write_text("{")
            answer = await ask(gateway, "GET", "/v1/control/headless/state")
            made_session.manifest_path.write_bytes(content)

        assert answer.status == 503

    asyncio.run(story())

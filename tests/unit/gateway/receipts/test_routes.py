"""Receipts over HTTP: what became of every prompt, however it came."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from posthouse.agent.adapter import AgentBusy, PromptFailed, PromptUnconfirmed
from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.sessions.session import Session
from posthouse.testing.gateway import Answer, FakeAgent, call
from posthouse.testing.running_gateways import is_at_rest

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
REQUESTS = "/v1/requests"
DIRECT = "/v1/control/prompt"
QUEUED = {"kind": "submit_prompt", "payload": {"prompt": "hello"}}
HEADLESS = ["accepted", "started", "submitted", "acknowledged", "completed"]
TYPED = ["accepted", "started", "typed", "submitted", "acknowledged", "completed"]


def agent(*, is_headless: bool = True) -> FakeAgent:
    made = FakeAgent(is_headless=is_headless)
    made.appear()
    return made


async def ask(
    gateway: Gateway, method: str, path: str, body: Mapping[str, Any] | None = None, **headers: str
) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await call(app.build(gateway), method, path, body, headers=named)


async def queued(gateway: Gateway, text: str = "hello") -> str:
    body = {"kind": "submit_prompt", "payload": {"prompt": text}}
    accepted = await ask(gateway, "POST", REQUESTS, body)
    assert accepted.status == 202
    return str(accepted.body["request_id"])


async def receipt(gateway: Gateway, request_id: str, query: str = "?wait=30") -> Any:
    answer = await ask(gateway, "GET", f"{REQUESTS}/{request_id}{query}")
    assert answer.status == 200, answer
    return answer.body


def stages(told: Mapping[str, Any]) -> list[str]:
    return [one["stage"] for one in told["stages"]]


def test_a_queued_headless_prompt_can_be_followed_to_its_answer(opened: Opener) -> None:
    """Location leads to the receipt, which has every stage, the answer and what it cost."""

    async def story() -> None:
        made = agent()
        made.answer, made.usage = "42", {"output_tokens": 1}
        async with opened(made) as gateway:
            accepted = await ask(gateway, "POST", REQUESTS, QUEUED)
            told = await ask(gateway, "GET", f"{accepted.headers['location']}?wait=30")

        body = told.body
        assert stages(body) == HEADLESS
        times = [one["at_utc"] for one in body["stages"]]
        assert times == sorted(times)
        assert (body["accepted_at_utc"], body["finished_at_utc"]) == (times[0], times[-1])
        assert {name: body[name] for name in ("request_id", "kind", "state", "error", "prompt_preview")} == {
            "request_id": accepted.body["request_id"],
            "kind": "submit_prompt",
            "state": "completed",
            "error": None,
            "prompt_preview": "hello",
        }
        assert body["result"] == {
            "answer": "42",
            "answer_is_cut": False,
            "usage": {"output_tokens": 1},
            "cost_usd": None,
        }
        assert body["stages"][-1]["evidence"] == {"source": "test"}

    asyncio.run(story())


def test_a_tuis_prompt_is_completed_when_its_turn_ends_and_not_before(opened: Opener, until: Until) -> None:
    """The contract's row is completed when it was submitted; the receipt waits for the transcript."""

    async def story() -> None:
        made = agent(is_headless=False)
        async with opened(made) as gateway:
            request_id = await queued(gateway)
            await until(lambda: is_at_rest(gateway))
            during = await receipt(gateway, request_id, "?wait=30&until=acknowledged")
            made.end_turn("done at last")
            after = await receipt(gateway, request_id)

        assert (during["state"], stages(during)) == ("running", TYPED[:-1])
        assert (after["state"], stages(after)) == ("completed", TYPED)
        assert after["result"]["answer"] == "done at last"
        assert after["stages"][-1]["evidence"]["source"] == "transcript"

    asyncio.run(story())


@pytest.mark.parametrize("is_headless", [True, False])
def test_a_direct_prompts_receipt_is_named_in_a_header(opened: Opener, is_headless: bool) -> None:
    """The contract's answer keeps its fields; the receipt tells the rest."""

    async def story() -> None:
        made = agent(is_headless=is_headless)
        async with opened(made) as gateway:
            answer = await ask(gateway, "POST", DIRECT, {"prompt": "hello"})
            if not is_headless:
                made.end_turn()
            told = await receipt(gateway, answer.headers["x-posthouse-request-id"])

        assert (told["kind"], told["state"]) == ("control_prompt", "completed")
        assert stages(told) == (HEADLESS if is_headless else TYPED)

    asyncio.run(story())


def test_a_direct_prompt_that_failed_after_it_was_accepted_has_a_receipt_too(opened: Opener) -> None:
    """The refusal names it: nobody can prove what became of the prompt, and the receipt says so."""

    async def story() -> None:
        made = agent(is_headless=False)
        made.failure = PromptUnconfirmed("nothing proves that the agent took it")
        async with opened(made) as gateway:
            answer = await ask(gateway, "POST", DIRECT, {"prompt": "hello"})
            told = await receipt(gateway, answer.headers["x-posthouse-request-id"])

        assert (answer.status, told["state"], stages(told)) == (
            422,
            "unknown",
            ["accepted", "started", "typed", "unknown"],
        )
        assert (told["error"], told["finished_at_utc"]) == ("nothing proves that the agent took it", None)

    asyncio.run(story())


def test_a_reminders_delivery_has_a_receipt(opened: Opener, until: Until) -> None:
    """It names its reminder, and is in the list like everybody's."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            definition = {"title": "t", "mode": "one_off", "prompt": "look", "ranking": 0}
            body = {"schema_version": 1, "reminders": [{**definition, "start_after_seconds": 0.01}]}
            created = await ask(gateway, "POST", "/v1/reminders", body)
            await until(lambda: gateway.reminders.list_all().reminders == [])
            listed = (await ask(gateway, "GET", f"{REQUESTS}?kind=reminder")).body["requests"]

        assert [(one["reminder_id"], one["state"], stages(one)) for one in listed] == [
            (created.body["reminders"][0]["reminder_id"], "completed", HEADLESS)
        ]

    asyncio.run(story())


def test_what_failed_says_why(opened: Opener) -> None:
    """A headless turn that ended badly is failed, with the agent's words."""

    async def story() -> None:
        made = agent()
        made.failure = PromptFailed("the turn ended badly")
        async with opened(made) as gateway:
            told = await receipt(gateway, await queued(gateway))

        assert (told["state"], told["error"], stages(told)) == (
            "failed",
            "the turn ended badly",
            [*HEADLESS[:-1], "failed"],
        )

    asyncio.run(story())


def test_a_prompt_that_went_back_in_line_has_not_started(opened: Opener, until: Until) -> None:
    """An agent that took nothing leaves no stage behind; the next try does."""

    async def story() -> None:
        made = agent()
        made.failure = AgentBusy("not now")
        async with opened(made) as gateway:
            request_id = await queued(gateway)
            await until(lambda: len(made.received) == 1 and gateway.status().active_execution == "idle")
            between = await receipt(gateway, request_id, "")
            after = await receipt(gateway, request_id)

        assert (stages(between), stages(after)) == (["accepted"], HEADLESS)

    asyncio.run(story())


def test_what_waits_can_be_taken_back_and_nothing_else(opened: Opener, until: Until) -> None:
    """A cancelled request is never given to the agent; one that runs or is over stays what it is."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            first, second = await queued(gateway, "first"), await queued(gateway, "second")
            await until(lambda: len(made.received) == 1)
            gone = await ask(gateway, "DELETE", f"{REQUESTS}/{second}")
            running = await ask(gateway, "DELETE", f"{REQUESTS}/{first}")
            again = await ask(gateway, "DELETE", f"{REQUESTS}/{second}")
            unknown = await ask(gateway, "DELETE", f"{REQUESTS}/gwreq-none")
            made.let_go()
            done = await receipt(gateway, first)

        assert (gone.status, gone.body["state"], stages(gone.body)) == (
            200,
            "cancelled",
            ["accepted", "cancelled"],
        )
        assert (running.status, again.status, unknown.status, done["state"]) == (409, 409, 404, "completed")
        assert "interrupt" in running.body["detail"] and "cancelled" in again.body["detail"]
        assert [prompt.text for prompt in made.received] == ["first"]

    asyncio.run(story())


def test_a_direct_prompt_that_waits_can_be_taken_back(opened: Opener, until: Until) -> None:
    """It is looked at once more right before it is given to the agent."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            await queued(gateway, "first")
            await until(lambda: len(made.received) == 1)
            direct = await ask(gateway, "POST", DIRECT, {"prompt": "second", "force": True})
            request_id = direct.headers["x-posthouse-request-id"]
            gone = await ask(gateway, "DELETE", f"{REQUESTS}/{request_id}")
            made.let_go()
            await until(lambda: gateway.status().active_execution == "idle")
            told = await receipt(gateway, request_id)

        assert (gone.status, stages(told)) == (200, ["accepted", "cancelled"])
        assert [prompt.text for prompt in made.received] == ["first"]

    asyncio.run(story())


def test_the_list_has_pages_and_filters(opened: Opener) -> None:
    """Newest first, each once, by state, kind and time."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            ids = [await queued(gateway, f"number {number}") for number in range(5)]
            for request_id in ids:
                last = await receipt(gateway, request_id)
            pages = [(await ask(gateway, "GET", f"{REQUESTS}?limit=2")).body]
            while pages[-1]["next_cursor"] is not None:
                cursor = pages[-1]["next_cursor"]
                pages.append((await ask(gateway, "GET", f"{REQUESTS}?limit=2&cursor={cursor}")).body)
            since = last["accepted_at_utc"].replace("+", "%2B")
            newest = (await ask(gateway, "GET", f"{REQUESTS}?since={since}")).body["requests"]
            none = (await ask(gateway, "GET", f"{REQUESTS}?state=failed")).body["requests"]
            direct = (await ask(gateway, "GET", f"{REQUESTS}?kind=control_prompt")).body["requests"]
            refused = [
                (await ask(gateway, "GET", f"{REQUESTS}?{query}")).status
                for query in (
                    "state=odd",
                    "limit=0",
                    "limit=1000",
                    "since=yesterday",
                    "cursor=x",
                    f"cursor={1 << 63}",
                )
            ]

        assert [one["request_id"] for page in pages for one in page["requests"]] == ids[::-1]
        assert [one["request_id"] for one in newest] == [ids[-1]]
        assert (none, direct, refused) == ([], [], [422] * 6)

    asyncio.run(story())


def test_a_wait_ends_in_time_with_what_there_is(opened: Opener, until: Until) -> None:
    """A receipt that does not get there is shown as it is; a wait without bounds is refused."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            request_id = await queued(gateway)
            early = await receipt(gateway, request_id, "?wait=0.05")
            refused = await ask(gateway, "GET", f"{REQUESTS}/{request_id}?wait=100000")
            unknown = await ask(gateway, "GET", f"{REQUESTS}/gwreq-none?wait=30")
            made.let_go()

        assert early["finished_at_utc"] is None
        assert (refused.status, unknown.status) == (422, 404)

    asyncio.run(story())


def test_each_stage_is_told_in_the_journal_without_a_word_of_the_prompt(
    opened: Opener, made_session: Session
) -> None:
    """Whoever listens to events can follow a prompt; what it says is nobody's business there."""

    async def story() -> None:
        made = agent()
        made.answer = "whispered answer"
        async with opened(made) as gateway:
            await receipt(gateway, await queued(gateway, "a whisper"))

    asyncio.run(story())

    text = (made_session.gateway_root / "events.jsonl").read_text()
    events = [json.loads(line) for line in text.splitlines()]
    told = [one["stage"] for one in events if one["kind"] == "request_stage"]
    assert told == HEADLESS
    assert "whisper" not in text

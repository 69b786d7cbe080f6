"""Direct prompts over HTTP: who gets one, who is refused, and in which shape."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from msgspec import structs

from posthouse.agent.adapter import AgentBusy, Prompt, PromptFailed, RunningTurn
from posthouse.contracts.manifest import Manifest
from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.testing.gateway import Answer, FakeAgent, call
from posthouse.testing.running_gateways import is_at_rest

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
Body = Mapping[str, Any]
PATH = "/v1/control/prompt"
QUEUED = {"kind": "submit_prompt", "payload": {"prompt": "queued"}}


def agent(*, is_headless: bool = True) -> FakeAgent:
    made = FakeAgent(is_headless=is_headless)
    made.appear()
    return made


async def ask(gateway: Gateway, body: Body) -> Answer:
    return await call(app.build(gateway), "POST", PATH, body)


def events(session: Session) -> list[dict[str, Any]]:
    """Every event but the screen's and the receipts' own, without its times and turn ids."""
    lines = (session.gateway_root / "events.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines]
    return [
        {name: value for name, value in event.items() if not name.endswith("_utc") and name != "turn_id"}
        for event in told
        if not event["kind"].startswith(("tui_", "request_"))
    ]


def refusal(code: str, *, forced: bool = False) -> dict[str, Any]:
    return {
        "status": "error",
        "action": "submit_prompt",
        "sent": False,
        "forced": forced,
        "error_code": code,
    }


def test_a_headless_prompt_is_admitted_at_once_and_its_end_is_told(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """The answer has the contract's words; the turn runs on after it."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            answer = await ask(gateway, {"prompt": "hello"})
            await until(lambda: len(made.received) == 1)
            during = gateway.status().active_execution
            made.let_go()
            await until(lambda: gateway.status().active_execution == "idle")

        turn_id = made.received[0].turn_id
        assert (answer.status, answer.body) == (
            200,
            {
                "status": "ok",
                "action": "submit_prompt",
                "sent": True,
                "forced": False,
                "detail": "Prompt dispatched.",
            },
        )
        assert (during, made.received) == ("running", [Prompt(text="hello", turn_id=turn_id)])

    asyncio.run(story())

    assert events(made_session) == [
        {"kind": "control_prompt_submitted", "forced": False},
        {"kind": "control_prompt_completed"},
    ]


def test_a_tui_prompt_is_answered_when_the_tui_took_it(opened: Opener, made_session: Session) -> None:
    """The answer has exactly the contract's fields and words, and the prompt is noted."""

    async def story() -> None:
        made = agent(is_headless=False)
        async with opened(made) as gateway:
            answer = await ask(gateway, {"prompt": "hello"})
            phase = (await gateway.tui.state()).turn.phase

        assert (answer.status, answer.body) == (
            200,
            {
                "status": "ok",
                "action": "submit_prompt",
                "sent": True,
                "forced": False,
                "detail": "Prompt dispatched.",
            },
        )
        assert (made.received, phase) == ([Prompt(text="hello")], "active")

    asyncio.run(story())

    assert events(made_session) == [{"kind": "control_prompt_submitted", "forced": False}]


def test_version_two_is_answered_in_its_own_shape(opened: Opener) -> None:
    """Neither success nor refusal knows the other version's fields."""

    async def story() -> None:
        made = agent(is_headless=False)
        async with opened(made) as gateway:
            good = await ask(gateway, {"schema_version": 2, "prompt": "hello", "admission_policy": "always"})
            made.show("active")
            bad = await ask(gateway, {"schema_version": 2, "prompt": "hello"})

        assert good.body == {
            "status": "ok",
            "action": "submit_prompt",
            "sent": True,
            "admission_policy": "always",
            "detail": "Prompt dispatched.",
        }
        assert bad.status == 409
        assert {**bad.body["detail"], "detail": ""} == {
            "status": "error",
            "action": "submit_prompt",
            "sent": False,
            "admission_policy": "ready_only",
            "error_code": "not_ready",
            "detail": "",
        }

    asyncio.run(story())


INVALID = {
    "a blank prompt": ({"prompt": "  "}, ["body", "prompt"], "string_pattern_mismatch"),
    "a policy in version 1": (
        {"prompt": "x", "admission_policy": "always"},
        ["body", "admission_policy"],
        "extra_forbidden",
    ),
    "force in version 2": (
        {"schema_version": 2, "prompt": "x", "force": True},
        ["body", "force"],
        "extra_forbidden",
    ),
    "a version to come": (
        {"schema_version": 3, "prompt": "x"},
        ["body", "schema_version"],
        "less_than_equal",
    ),
    "a number for force": ({"prompt": "x", "force": 1}, ["body", "force"], "bool_type"),
}


@pytest.mark.parametrize(("body", "loc", "kind"), INVALID.values(), ids=INVALID.keys())
def test_a_body_of_another_shape_is_an_array_of_problems(
    opened: Opener, body: Body, loc: list[str], kind: str
) -> None:
    """Validation is told as everywhere, even with force, and nothing is typed."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            answer = await ask(gateway, body)

        assert (answer.status, [(one["loc"], one["type"]) for one in answer.body["detail"]]) == (
            422,
            [(loc, kind)],
        )
        assert made.received == []

    asyncio.run(story())


NOT_FOR_A_TUI = {
    **{
        f"chat session {mode}": ({"chat_session": {"mode": mode}}, "invalid_chat_session")
        for mode in ("auto", "current", "tool_last_or_new")
    },
    "an exact chat session": ({"chat_session": {"mode": "exact", "id": "c"}}, "invalid_chat_session"),
    "another model": ({"execution": {"model": {"name": "m"}}}, "invalid_execution"),
}


@pytest.mark.parametrize(("more", "code"), NOT_FOR_A_TUI.values(), ids=NOT_FOR_A_TUI.keys())
def test_a_tui_refuses_what_only_headless_agents_can_do(opened: Opener, more: Body, code: str) -> None:
    """Force does not help."""

    async def story() -> None:
        made = agent(is_headless=False)
        async with opened(made) as gateway:
            answer = await ask(gateway, {"prompt": "x", "force": True, **more})

        told = {name: value for name, value in answer.body["detail"].items() if name != "detail"}
        assert (answer.status, told) == (422, refusal(code, forced=True))
        assert made.received == []

    asyncio.run(story())


@pytest.mark.parametrize("force", [False, True])
def test_an_absent_or_replaced_agent_gets_no_direct_prompt(opened: Opener, force: bool) -> None:
    """Force passes neither 503 nor reconciliation."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            made.vanish("its tmux session ended")
            absent = await ask(gateway, {"prompt": "x", "force": force})
            made.appear("another", is_known=False)
            replaced = await ask(gateway, {"prompt": "x", "force": force})

        assert (absent.status, absent.body["detail"]) == (
            503,
            {
                **refusal("unavailable", forced=force),
                "detail": "the agent is not available: its tmux session ended",
            },
        )
        assert (replaced.status, replaced.body["detail"]["error_code"]) == (409, "blocked_reconciliation")
        assert made.received == []

    asyncio.run(story())


SCREENS: dict[str, dict[str, Any]] = {
    "input waits for its turn already": {"state": "queued"},
    "it works on a draft's side": {"state": "active", "composer": "half a thought"},
    "its usage limit is reached": {"state": "limited"},
    "somebody's draft stands there": {"state": "draft", "composer": "half a thought"},
    "a dialog would eat it": {"state": "blocked", "dialog": "permission", "composer": None},
    "it is still starting": {"state": "starting"},
    "nobody understands the screen": {"state": "unknown", "composer": None},
}


@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS.keys())
@pytest.mark.parametrize("policy", ["ready_only", "if_no_pending"])
def test_a_tui_that_can_take_nothing_is_409(opened: Opener, screen: dict[str, Any], policy: str) -> None:
    """Both conditional policies refuse; `always` goes to the agent, whose hands have the last word."""

    async def story() -> None:
        made = agent(is_headless=False)
        async with opened(made) as gateway:
            made.show(**screen)
            body = {"schema_version": 2, "prompt": "x"}
            refused = await ask(gateway, {**body, "admission_policy": policy})
            assert made.received == []
            sent = await ask(gateway, {**body, "admission_policy": "always"})

        assert (refused.status, refused.body["detail"]["error_code"]) == (409, "not_ready")
        assert (sent.status, made.received, made.received_while_busy) == (200, [Prompt(text="x")], [True])

    asyncio.run(story())


def test_a_working_tui_takes_a_prompt_into_its_own_queue_if_none_waits_there(opened: Opener) -> None:
    """That is what `if_no_pending` asks for; `ready_only` wants it ready."""

    async def story() -> None:
        made = agent(is_headless=False)
        async with opened(made) as gateway:
            made.show("active")
            body = {"schema_version": 2, "prompt": "x"}
            refused = await ask(gateway, {**body, "admission_policy": "ready_only"})
            sent = await ask(gateway, {**body, "admission_policy": "if_no_pending"})

        assert (refused.status, refused.body["detail"]["error_code"]) == (409, "not_ready")
        assert (sent.status, made.received, made.received_while_busy) == (200, [Prompt(text="x")], [True])

    asyncio.run(story())


def test_a_busy_headless_agent_is_409_and_force_waits_its_turn(opened: Opener, until: Until) -> None:
    """One turn at a time, really."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            await ask(gateway, {"prompt": "first"})
            await until(lambda: len(made.received) == 1)
            refused = await ask(gateway, {"prompt": "second"})
            forced = await ask(gateway, {"prompt": "third", "force": True})
            # It has found the agent ready; only the slot keeps it.
            await until(lambda: made.waits_ended == 2)
            await asyncio.sleep(0)
            before = [one.text for one in made.received]
            made.let_go()
            await until(lambda: gateway.status().active_execution == "idle")

        assert (refused.status, refused.body["detail"]["error_code"]) == (409, "not_ready")
        assert (forced.status, forced.body["forced"], before) == (200, True, ["first"])
        assert [one.text for one in made.received] == ["first", "third"]

    asyncio.run(story())


def test_if_no_pending_lets_one_prompt_wait_and_no_second(opened: Opener, until: Until) -> None:
    """A headless agent at work takes the next prompt, as long as none waits already."""

    async def story() -> None:
        made = agent()
        made.hold()
        body = {"schema_version": 2, "admission_policy": "if_no_pending"}
        async with opened(made) as gateway:
            await ask(gateway, {"prompt": "runs"})
            await until(lambda: len(made.received) == 1)
            answers = [await ask(gateway, {**body, "prompt": text}) for text in ("waits", "too many")]
            made.let_go()
            await until(lambda: gateway.status().active_execution == "idle")

        assert [answer.status for answer in answers] == [200, 409]
        assert [one.text for one in made.received] == ["runs", "waits"]

    asyncio.run(story())


class Deliberate(FakeAgent):
    """Takes its time to say what it does, so that others come in between."""

    async def running_turn(self) -> RunningTurn | None:
        await asyncio.sleep(0.01)
        return await super().running_turn()


def test_two_callers_at_once_do_not_both_find_it_idle(opened: Opener, until: Until) -> None:
    """Admission and the next look at it are one step."""

    async def story() -> None:
        made = Deliberate()
        made.appear()
        made.hold()
        async with opened(made) as gateway:
            answers = await asyncio.gather(*(ask(gateway, {"prompt": text}) for text in ("a", "b")))
            made.let_go()
            await until(lambda: gateway.status().active_execution == "idle")

        assert sorted(answer.status for answer in answers) == [200, 409]
        assert len(made.received) == 1

    asyncio.run(story())


def test_queued_work_goes_first(opened: Opener, until: Until) -> None:
    """A direct prompt does not overtake what waits in the queue."""

    async def story() -> None:
        made = agent()
        made.be_busy()
        async with opened(made) as gateway:
            await call(app.build(gateway), "POST", "/v1/requests", QUEUED)
            answer = await ask(gateway, {"prompt": "direct"})
            made.be_ready()
            await until(lambda: is_at_rest(gateway))

        assert (answer.status, answer.body["detail"]["error_code"]) == (409, "not_ready")
        assert [one.text for one in made.received] == ["queued"]

    asyncio.run(story())


def pin(session: Session, chat_id: str) -> None:
    def pinned(manifest: Manifest) -> Manifest:
        assert manifest.headless is not None
        return structs.replace(manifest, headless=structs.replace(manifest.headless, session_id=chat_id))

    sessions.update(session, pinned)


def test_the_current_conversation_has_to_exist(opened: Opener, until: Until, made_session: Session) -> None:
    """409 with its own code without one; with one, the prompt goes there."""
    body = {"prompt": "x", "chat_session": {"mode": "current"}}

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            missing = await ask(gateway, body)
            pin(made_session, "chat-1")
            there = await ask(gateway, body)
            await until(lambda: gateway.status().active_execution == "idle")

        told = missing.body["detail"]["error_code"]
        assert (missing.status, told, there.status) == (409, "missing_current_chat_session", 200)
        assert [one.chat_mode for one in made.received] == ["current"]

    asyncio.run(story())


def test_model_and_conversation_hold_for_one_turn(opened: Opener, until: Until) -> None:
    """What was asked for reaches the agent with the prompt."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            await ask(
                gateway,
                {
                    "prompt": "x",
                    "chat_session": {"mode": "exact", "id": "c"},
                    "execution": {"model": {"name": " m ", "reasoning": {"level": 3}}},
                },
            )
            await until(lambda: gateway.status().active_execution == "idle")

        turn_id = made.received[0].turn_id
        assert made.received == [
            Prompt(text="x", turn_id=turn_id, chat_mode="exact", chat_id="c", model="m", reasoning_level=3)
        ]

    asyncio.run(story())


def test_a_new_conversation_in_a_tui_is_a_reset_and_then_the_prompt(opened: Opener) -> None:
    """The tool's own command goes first."""

    async def story() -> None:
        made = agent(is_headless=False)
        async with opened(made) as gateway:
            answer = await ask(gateway, {"prompt": "x", "chat_session": {"mode": "new"}})

        assert (answer.status, [one.text for one in made.received]) == (200, ["/clear", "x"])

    asyncio.run(story())


FAILURES = {
    "nothing was typed": AgentBusy("nothing was typed: draft"),
    "nobody can prove it": PromptFailed("nothing proves that the agent took it"),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
def test_a_tui_that_did_not_take_it_is_dispatch_failed(
    opened: Opener, made_session: Session, failure: Exception
) -> None:
    """422 with the reason, also in the events."""

    async def story() -> None:
        made = agent(is_headless=False)
        made.failure = failure
        async with opened(made) as gateway:
            answer = await ask(gateway, {"prompt": "x"})
            assert gateway.status().active_execution == "idle"

        assert (answer.status, answer.body["detail"]) == (
            422,
            {**refusal("dispatch_failed"), "detail": str(failure)},
        )

    asyncio.run(story())

    assert events(made_session) == [{"kind": "control_prompt_failed", "error_detail": str(failure)}]


def test_a_refused_prompt_leaves_no_note(opened: Opener) -> None:
    """What was not typed does not make the TUI look busy."""

    async def story() -> None:
        made = agent(is_headless=False)
        made.failure = AgentBusy("nothing was typed: draft")
        async with opened(made) as gateway:
            await ask(gateway, {"prompt": "x"})
            assert (await gateway.tui.state()).turn.phase == "ready"

    asyncio.run(story())


def test_what_is_not_confirmed_in_time_goes_on_and_says_so(
    opened: Opener, until: Until, made_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller is answered before it gives up; the slot stays with the prompt."""
    # Four seconds are too long to wait for in a test.
    monkeypatch.setattr("posthouse.gateway.control.prompts.ANSWER_SECONDS", 0.01)

    async def story() -> None:
        made = agent(is_headless=False)
        made.hold()
        async with opened(made) as gateway:
            answer = await ask(gateway, {"prompt": "slow", "force": True})
            await until(lambda: len(made.received) == 1)
            during = gateway.status().active_execution
            made.let_go()
            await until(lambda: gateway.status().active_execution == "idle")

        assert (answer.status, during) == (200, "running")
        assert answer.body["detail"] == (
            "The prompt is being given to the agent; that it took it is not confirmed yet."
        )

    asyncio.run(story())

    assert events(made_session) == [{"kind": "control_prompt_submitted", "forced": True}]


def test_a_failed_turn_is_told_by_its_event(opened: Opener, until: Until, made_session: Session) -> None:
    """The answer came before it."""

    async def story() -> None:
        made = agent()
        made.failure = PromptFailed("the turn ended badly")
        async with opened(made) as gateway:
            await ask(gateway, {"prompt": "whisper"})
            await until(lambda: gateway.status().active_execution == "idle")

    asyncio.run(story())

    assert events(made_session) == [
        {"kind": "control_prompt_submitted", "forced": False},
        {"kind": "control_prompt_failed", "error_detail": "the turn ended badly"},
    ]
    for name in ("events.jsonl", "logs/gateway.log"):
        assert "whisper" not in (made_session.gateway_root / name).read_text()

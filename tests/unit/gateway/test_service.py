"""What a gateway does with the requests it is given."""

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from pydantic import TypeAdapter

from posthouse.agent.adapter import AgentBusy, Prompt, PromptFailed
from posthouse.contracts.gateway_http import Request
from posthouse.errors import Conflict, InvalidInput, Unavailable
from posthouse.gateway.receipts import view
from posthouse.gateway.service import Gateway
from posthouse.gateway.worker import STOPPED
from posthouse.queue import ReceiptFilter
from posthouse.sessions.session import Session
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.running_gateways import is_at_rest

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
REQUEST: TypeAdapter[Any] = TypeAdapter(Request)
INTERRUPT = REQUEST.validate_python({"kind": "interrupt", "payload": {}})


def prompt(text: str, **more: object) -> Any:
    return REQUEST.validate_python({"kind": "submit_prompt", "payload": {"prompt": text, **more}})


def agent(*, is_headless: bool = True) -> FakeAgent:
    made = FakeAgent(is_headless=is_headless)
    made.appear()
    return made


def rows(session: Session) -> list[tuple[str, str, str | None]]:
    with sqlite3.connect(session.gateway_root / "queue.sqlite") as connection:
        return connection.execute(
            "SELECT request_kind, state, error_detail FROM gateway_requests ORDER BY rowid"
        ).fetchall()


def events(session: Session) -> list[str]:
    lines = (session.gateway_root / "events.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    return [kind for kind in kinds if kind != "request_stage"]


def texts(made: FakeAgent) -> list[str]:
    return [one.text for one in made.received]


def test_an_accepted_prompt_is_carried_out_and_its_story_is_told(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """Row, event log and answer agree on what happened."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            accepted = await gateway.submit(
                prompt("hello", turn_id="turn-1", chat_session={"mode": "exact", "id": "c"})
            )
            await until(lambda: is_at_rest(gateway))

        assert accepted.model_dump(exclude={"request_id", "accepted_at_utc"}) == {
            "request_kind": "submit_prompt",
            "state": "accepted",
            "queue_depth": 1,
            "managed_agent_instance_epoch": 1,
        }
        assert made.received == [
            Prompt(text="hello", turn_id="turn-1", chat_mode="exact", chat_id="c", instance_id="one")
        ]

    asyncio.run(story())

    assert rows(made_session) == [("submit_prompt", "completed", None)]
    assert events(made_session) == ["accepted", "completed"]


def test_prompts_are_carried_out_one_by_one_in_order(opened: Opener, until: Until) -> None:
    """A busy agent still accepts; what was accepted waits its turn."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            for text in ("first", "second", "third"):
                await gateway.submit(prompt(text))
            await until(lambda: texts(made) == ["first"])
            during = gateway.status()
            made.let_go()
            await until(lambda: is_at_rest(gateway))

        assert (during.active_execution, during.queue_depth) == ("running", 3)
        assert texts(made) == ["first", "second", "third"]

    asyncio.run(story())


def test_a_prompt_that_the_agent_refuses_is_failed_with_its_reason(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """One bad prompt costs the others nothing."""

    async def story() -> None:
        made = agent()
        made.failure = PromptFailed("the turn ended badly")
        async with opened(made) as gateway:
            await gateway.submit(prompt("bad"))
            await gateway.submit(prompt("good"))
            await until(lambda: is_at_rest(gateway))

    asyncio.run(story())

    assert rows(made_session) == [
        ("submit_prompt", "failed", "the turn ended badly"),
        ("submit_prompt", "completed", None),
    ]


def test_a_fault_of_ours_fails_the_request_and_not_the_worker(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """The row names the fault, the log has the traceback, the next prompt is carried out."""

    async def story() -> None:
        made = agent()
        made.failure = RuntimeError("secret words")
        async with opened(made) as gateway:
            await gateway.submit(prompt("unlucky"))
            await gateway.submit(prompt("lucky"))
            await until(lambda: is_at_rest(gateway))

    asyncio.run(story())

    reason = "the gateway failed: RuntimeError; its log has the details"
    assert rows(made_session) == [("submit_prompt", "failed", reason), ("submit_prompt", "completed", None)]
    assert "RuntimeError: secret words" in (made_session.gateway_root / "logs/gateway.log").read_text()


def test_a_prompt_that_reached_nobody_is_tried_again(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """An agent that turned busy at the last moment costs no request."""

    async def story() -> None:
        made = agent()
        made.failure = AgentBusy("somebody is typing")
        async with opened(made) as gateway:
            await gateway.submit(prompt("patient"))
            await until(lambda: len(made.received) == 2)
            await until(lambda: is_at_rest(gateway))

    asyncio.run(story())

    assert rows(made_session) == [("submit_prompt", "completed", None)]


def test_waiting_for_readiness_does_not_hold_the_slot(opened: Opener, until: Until) -> None:
    """Until the agent takes it, a request only waits."""

    async def story() -> None:
        made = agent()
        made.be_busy()
        async with opened(made) as gateway:
            await gateway.submit(prompt("later"))
            await until(lambda: made.waits_begun == 1)
            waiting = gateway.status()
            assert made.received == []
            made.be_ready()
            await until(lambda: is_at_rest(gateway))

        assert (waiting.active_execution, waiting.queue_depth) == ("idle", 1)
        assert texts(made) == ["later"]

    asyncio.run(story())


def test_an_interrupt_acts_at_once_on_what_runs(opened: Opener, until: Until, made_session: Session) -> None:
    """It does not wait for the slot it interrupts, and leaves alone the prompt that starts after it."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            await gateway.submit(prompt("long"))
            await gateway.submit(prompt("next"))
            await until(lambda: texts(made) == ["long"])
            await gateway.submit(INTERRUPT)
            await until(lambda: texts(made) == ["long", "next"])
            await until(lambda: gateway.status().queue_depth == 1)

            assert rows(made_session) == [
                ("submit_prompt", "failed", "the turn was interrupted"),
                ("submit_prompt", "running", None),
                ("interrupt", "completed", None),
            ]

    asyncio.run(story())


def test_an_interrupt_of_an_idle_agent_does_nothing(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """It is accepted, and completed without effect."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            await gateway.submit(INTERRUPT)
            await until(lambda: is_at_rest(gateway))

    asyncio.run(story())

    assert rows(made_session) == [("interrupt", "completed", None)]


def test_an_agent_that_is_not_there_gets_no_requests(opened: Opener, made_session: Session) -> None:
    """The refusal names the reason, and nothing is kept."""

    async def story() -> None:
        made = FakeAgent()
        made.vanish("its tmux session ended")
        async with opened(made) as gateway:
            with pytest.raises(Unavailable, match="its tmux session ended"):
                await gateway.submit(prompt("hello"))

    asyncio.run(story())

    assert rows(made_session) == []


def test_a_replaced_agent_gets_no_requests_until_somebody_decides(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """Old work is kept, and neither it nor new work reaches the stranger."""

    async def story() -> None:
        made = agent()
        made.be_busy()
        async with opened(made) as gateway:
            await gateway.submit(prompt("old"))
            made.appear("stranger", is_known=False)
            await until(lambda: gateway.status().request_admission == "blocked_reconciliation")
            with pytest.raises(Conflict, match="was replaced") as refused:
                await gateway.submit(prompt("new"))
            assert refused.value.code == "blocked_reconciliation"

        assert made.received == []

    asyncio.run(story())

    assert rows(made_session) == [("submit_prompt", "accepted", None)]


def test_an_agent_that_returns_is_given_what_waited(opened: Opener, until: Until) -> None:
    """Waiting work goes on by itself when the same instance is there again."""

    async def story() -> None:
        made = agent()
        made.be_busy()
        async with opened(made) as gateway:
            await gateway.submit(prompt("patient"))
            made.vanish()
            made.be_ready()
            await until(lambda: gateway.status().request_admission == "blocked_unavailable")
            made.appear("one")
            await until(lambda: is_at_rest(gateway))

        assert texts(made) == ["patient"]

    asyncio.run(story())


def test_a_tui_can_not_change_its_model_for_one_prompt(opened: Opener) -> None:
    """The caller is told, instead of getting the wrong model."""

    async def story() -> None:
        async with opened(agent(is_headless=False)) as gateway:
            with pytest.raises(InvalidInput, match="execution is for headless agents"):
                await gateway.submit(prompt("hello", execution={"model": {"name": "m"}}))

    asyncio.run(story())


def test_a_stop_fails_what_runs_keeps_what_waits_and_says_so(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """After a stop the files tell of no gateway and of the work that waits for the next one."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            await gateway.submit(prompt("running"))
            await gateway.submit(prompt("waiting"))
            await until(lambda: texts(made) == ["running"])
            assert (made_session.gateway_root / "run/current-instance.json").exists()

    asyncio.run(story())

    assert rows(made_session) == [("submit_prompt", "failed", STOPPED), ("submit_prompt", "accepted", None)]
    state = json.loads((made_session.gateway_root / "state.json").read_bytes())
    assert (state["gateway_health"], state["queue_depth"], "gateway_host" in state) == (
        "not_attached",
        1,
        False,
    )
    assert list((made_session.gateway_root / "run").iterdir()) == []


def test_the_next_gateway_carries_on_what_waited(opened: Opener, until: Until) -> None:
    """Accepted work survives its gateway."""

    async def story() -> None:
        first, second = agent(), agent()
        first.be_busy()
        async with opened(first) as gateway:
            await gateway.submit(prompt("patient"))
        async with opened(second) as gateway:
            await until(lambda: is_at_rest(gateway))

        assert (texts(first), texts(second)) == ([], ["patient"])

    asyncio.run(story())


def test_state_json_follows_the_status(opened: Opener, until: Until, made_session: Session) -> None:
    """What readers find on disk is what `/v1/status` says."""

    def on_disk() -> dict[str, object]:
        state: dict[str, object] = json.loads((made_session.gateway_root / "state.json").read_bytes())
        return state

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            await gateway.submit(prompt("hello"))
            await until(lambda: on_disk()["active_execution"] == "running")
            assert on_disk() == gateway.status().model_dump(mode="json")
            made.let_go()
            await until(lambda: on_disk()["active_execution"] == "idle")

    asyncio.run(story())


def test_no_prompt_is_in_log_or_events(opened: Opener, until: Until, made_session: Session) -> None:
    """What people ask stays in the queue."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            await gateway.submit(prompt("whisper"))
            await until(lambda: is_at_rest(gateway))

    asyncio.run(story())

    for name in ("events.jsonl", "logs/gateway.log", "state.json"):
        assert "whisper" not in (made_session.gateway_root / name).read_text()


@pytest.mark.parametrize(
    ("kind", "payload", "reason"),
    [
        ("dance", "{}", "unsupported request kind 'dance'"),
        ("submit_prompt", '{"prompt": "torn', "payload_json can't be parsed"),
        ("submit_prompt", "[" * 100_000, "payload_json can't be parsed"),
        ("interrupt", "{torn", "payload_json can't be parsed"),
        ("submit_prompt", "[]", "payload_json is not an object"),
        ("submit_prompt", "{}", "payload_json is not a prompt's"),
        ("submit_prompt", '{"prompt": 7}', "payload_json is not a prompt's"),
        ("submit_prompt", '{"prompt": "x", "chat_session": 7}', "payload_json is not a prompt's"),
        ("submit_prompt", '{"prompt": "\\ud800"}', "payload_json has a prompt that is not Unicode"),
        ("submit_prompt", '{"prompt": "/new", "turn_id": [1]}', "payload_json has an invalid turn_id"),
        ("submit_prompt", '{"prompt": "x", "turn_id": "../x"}', "payload_json has an invalid turn_id"),
        ("submit_prompt", '{"prompt": "x", "turn_id": "\\ud800"}', "payload_json has an invalid turn_id"),
    ],
)
def test_a_row_that_can_not_be_carried_out_fails_with_its_reason(
    opened: Opener, until: Until, made_session: Session, kind: str, payload: str, reason: str
) -> None:
    """It stops the coalescing scan, and the worker goes on with the next row."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            await until(lambda: is_at_rest(gateway))
        with sqlite3.connect(made_session.gateway_root / "queue.sqlite") as connection:
            for number, (each_kind, each_payload) in enumerate(
                [
                    ("submit_prompt", '{"prompt": "/clear"}'),
                    (kind, payload),
                    ("submit_prompt", '{"prompt": "/new"}'),
                ]
            ):
                connection.execute(
                    "INSERT INTO gateway_requests (request_id, request_kind, payload_json, state,"
                    " accepted_at_utc, managed_agent_instance_epoch)"
                    " VALUES (?, ?, ?, 'accepted', '2026-01-01T00:00:00Z', 1)",
                    (f"gwreq-{number}", each_kind, each_payload),
                )
        made = agent()
        async with opened(made) as gateway:
            await until(lambda: texts(made) == ["/clear", "/new"] and is_at_rest(gateway))
            page = await gateway.receipts.read("gwreq-1", until=None, wait_seconds=0)
            assert page.state == "failed"
            assert (await gateway.operations.readiness()).ready

    asyncio.run(story())
    before, bad, after = rows(made_session)
    assert (before[1], bad[1], after[1]) == ("completed", "failed", "completed")
    assert bad[2] is not None
    assert bad[2].startswith(reason)


@pytest.mark.parametrize("epoch", ["one", b"\xff", 1.5, -1, 99])
def test_a_row_for_no_instance_fails_with_its_reason(
    opened: Opener, until: Until, made_session: Session, epoch: object
) -> None:
    """What comes after it is carried out, and its receipt hides no other."""

    async def story() -> None:
        async with opened(agent()) as gateway:
            await until(lambda: is_at_rest(gateway))
        with sqlite3.connect(made_session.gateway_root / "queue.sqlite") as connection:
            connection.execute(
                "INSERT INTO gateway_requests (request_id, request_kind, payload_json, state,"
                " accepted_at_utc, managed_agent_instance_epoch)"
                """ VALUES ('gwreq-0', 'submit_prompt', '{"prompt": "x"}', 'accepted', '2026', ?)""",
                (epoch,),
            )
        made = agent()
        async with opened(made) as gateway:
            await gateway.submit(prompt("after"))
            await until(lambda: texts(made) == ["after"] and is_at_rest(gateway))
            shown = view.page(await gateway.receipts.page(ReceiptFilter(limit=10)))
            assert [one.state for one in shown.requests] == ["completed", "failed"]
            assert (await gateway.operations.readiness()).background_failures == ()

    asyncio.run(story())


@pytest.mark.parametrize("is_headless", [True, False])
@pytest.mark.parametrize(
    ("stage", "at_utc", "detail"),
    [
        ("danced", "2026-01-01T00:00:00Z", "{}"),
        ("started", "yesterday", "{}"),
        ("started", "2026-01-01T00:00:00Z", "{torn"),
        ("started", "2026-01-01T00:00:00Z", "[" * 100_000),
        ("started", "2026-01-01T00:00:00Z", '{"evidence": ' + "[" * 600 + "]" * 600 + "}"),
        ("started", "2026-01-01T00:00:00Z", "[]"),
        ("started", "2026-01-01T00:00:00Z", '{"evidence": 7}'),
    ],
)
def test_a_bad_stage_keeps_no_gateway_from_starting(
    opened: Opener,
    until: Until,
    made_session: Session,
    stage: str,
    at_utc: str,
    detail: str,
    *,
    is_headless: bool,
) -> None:
    """Another program wrote it; the other stages of that receipt, and the other receipts, are shown."""

    async def story() -> None:
        async with opened(agent(is_headless=is_headless)) as gateway:
            accepted = await gateway.submit(prompt("before"))
            await until(lambda: is_at_rest(gateway))
        with sqlite3.connect(made_session.gateway_root / "queue.sqlite") as connection:
            connection.execute("DELETE FROM posthouse_stages WHERE stage = 'completed'")
            connection.execute(
                "INSERT OR REPLACE INTO posthouse_stages (request_id, stage, at_utc, detail_json)"
                " VALUES (?, ?, ?, ?)",
                (accepted.request_id, stage, at_utc, detail),
            )
        async with opened(agent(is_headless=is_headless)) as gateway:
            await gateway.submit(prompt("after"))
            await until(lambda: is_at_rest(gateway))
            shown = view.page(await gateway.receipts.page(ReceiptFilter(limit=10)))
            shown.model_dump_json()
            assert len(shown.requests) == 2

    asyncio.run(story())

"""What becomes of work whose agent was replaced."""

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal

import pytest
from pydantic import TypeAdapter

from posthouse.agent.adapter import AgentBusy
from posthouse.contracts.gateway_http import ReconciliationRequest, Request
from posthouse.errors import Conflict
from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.gateway.worker import AGENT_REPLACED
from posthouse.queue.epochs import DISCARDED
from posthouse.sessions.session import Session
from posthouse.testing.gateway import FakeAgent, call
from posthouse.testing.running_gateways import is_at_rest

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
REQUEST: TypeAdapter[Any] = TypeAdapter(Request)


def prompt(text: str) -> Any:
    return REQUEST.validate_python({"kind": "submit_prompt", "payload": {"prompt": text}})


def decision(words: Literal["replay", "discard"], epoch: int | None = None) -> ReconciliationRequest:
    return ReconciliationRequest(decision=words, managed_agent_instance_epoch=epoch)


def rows(session: Session) -> list[tuple[str, int, str | None]]:
    """State, epoch and reason of each request."""
    with sqlite3.connect(session.gateway_root / "queue.sqlite") as connection:
        return connection.execute(
            "SELECT state, managed_agent_instance_epoch, error_detail FROM gateway_requests ORDER BY rowid"
        ).fetchall()


def events(session: Session, kind: str) -> list[dict[str, Any]]:
    lines = (session.gateway_root / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] == kind]


async def replaced(made: FakeAgent, gateway: Gateway, until: Until) -> None:
    """Put work in line, and a stranger in the agent's place."""
    made.be_busy()
    await gateway.submit(prompt("old"))
    made.appear("stranger", is_known=False)
    await until(lambda: gateway.status().request_admission == "blocked_reconciliation")
    made.be_ready()


def agent() -> FakeAgent:
    made = FakeAgent()
    made.appear()
    return made


def test_replay_gives_the_old_work_to_the_new_agent(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """It is carried out once; its row still says which agent it was accepted for."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            await replaced(made, gateway, until)
            result = await gateway.reconcile(decision("replay"))
            await gateway.submit(prompt("new"))
            await until(lambda: is_at_rest(gateway))
            assert gateway.status().managed_agent_recovery == "idle"

        assert [one.text for one in made.received] == ["old", "new"]
        assert (result.decision, result.managed_agent_instance_epoch, len(result.request_ids)) == (
            "replay",
            2,
            1,
        )

    asyncio.run(story())

    assert rows(made_session) == [("completed", 1, None), ("completed", 2, None)]
    (event,) = events(made_session, "reconciled")
    assert (event["decision"], event["managed_agent_instance_epoch"]) == ("replay", 2)


def test_discard_fails_the_old_work_with_that_reason(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """Nothing of it reaches the new agent, which is open for new work at once."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            await replaced(made, gateway, until)
            await gateway.reconcile(decision("discard", epoch=2))
            await gateway.submit(prompt("new"))
            await until(lambda: is_at_rest(gateway))

        assert [one.text for one in made.received] == ["new"]

    asyncio.run(story())

    assert rows(made_session) == [("failed", 1, DISCARDED), ("completed", 2, None)]
    assert [event["decision"] for event in events(made_session, "reconciled")] == ["discard"]
    assert [event["error_detail"] for event in events(made_session, "failed")] == [DISCARDED]


def test_a_stranger_needs_a_decision_even_with_an_empty_queue(opened: Opener, until: Until) -> None:
    """That survives a restart of the gateway, and so does the decision."""

    async def story() -> None:
        async with opened(agent()):
            pass
        stranger = FakeAgent()
        stranger.appear("stranger", is_known=False)
        async with opened(stranger) as gateway:
            assert gateway.status().managed_agent_recovery == "reconciliation_required"
        async with opened(stranger) as gateway:
            assert gateway.status().request_admission == "blocked_reconciliation"
            await gateway.reconcile(decision("replay"))
        async with opened(stranger) as gateway:
            status = gateway.status()
            assert (status.managed_agent_recovery, status.request_admission) == ("idle", "open")
            assert status.managed_agent_instance_epoch == 2

    asyncio.run(story())


def test_our_own_relaunch_decides_itself_and_says_so(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """With nothing waiting there is nothing to ask; the decision is an event all the same."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            made.appear("relaunched", is_known=True)
            await until(lambda: gateway.status().managed_agent_instance_epoch == 2)
            assert gateway.status().request_admission == "open"

    asyncio.run(story())

    (event,) = events(made_session, "reconciled")
    event.pop("at_utc")
    assert event == {
        "kind": "reconciled",
        "decision": "relaunch",
        "managed_agent_instance_epoch": 2,
        "managed_agent_instance_id": "relaunched",
        "request_ids": [],
    }


def test_a_request_that_slipped_in_for_the_old_agent_is_failed(
    opened: Opener, until: Until, made_session: Session
) -> None:
    """A turn that could not start while the agent was relaunched neither blocks the queue nor is replayed."""

    async def story() -> None:
        made = agent()
        made.hold()
        async with opened(made) as gateway:
            await gateway.submit(prompt("old"))
            await until(lambda: len(made.received) == 1)
            made.appear("relaunched", is_known=True)
            await until(lambda: gateway.status().managed_agent_instance_epoch == 2)
            made.failure = AgentBusy("too late")
            made.let_go()
            await gateway.submit(prompt("new"))
            await until(lambda: is_at_rest(gateway))

        assert [one.text for one in made.received] == ["old", "new"]

    asyncio.run(story())

    assert rows(made_session) == [("failed", 1, AGENT_REPLACED), ("completed", 2, None)]


def test_a_decision_is_about_the_agent_that_was_looked_at(opened: Opener, until: Until) -> None:
    """One that was replaced once more, or is decided, is refused, and nothing changes."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            with pytest.raises(Conflict, check=lambda error: error.code == "nothing_to_decide"):
                await gateway.reconcile(decision("discard"))
            await replaced(made, gateway, until)
            with pytest.raises(Conflict, match="the decision is about epoch 1"):
                await gateway.reconcile(decision("discard", epoch=1))
            assert gateway.status().queue_depth == 1

    asyncio.run(story())


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"decision": "replay"}, 200),
        ({"schema_version": 1, "decision": "discard", "managed_agent_instance_epoch": 2}, 200),
        ({"decision": "discard", "managed_agent_instance_epoch": 1}, 409),
        ({"decision": "maybe"}, 422),
        ({}, 422),
        ({"decision": "replay", "more": 1}, 422),
    ],
)
def test_the_route_takes_a_decision(opened: Opener, until: Until, body: dict[str, Any], status: int) -> None:
    """Over HTTP as in the document; a second decision has nothing to decide."""

    async def story() -> None:
        made = agent()
        async with opened(made) as gateway:
            await replaced(made, gateway, until)
            served = app.build(gateway)
            answer = await call(served, "POST", "/v1/reconciliation", body)
            again = await call(served, "POST", "/v1/reconciliation", {"decision": "replay"})

            assert answer.status == status
            assert again.status == (409 if status == 200 else 200)

    asyncio.run(story())

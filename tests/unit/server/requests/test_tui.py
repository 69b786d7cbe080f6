"""Which way a prompt for a TUI takes, and when it takes none."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from posthouse import tools
from posthouse.agent.adapter import AgentBusy, PromptUnconfirmed
from posthouse.clients.connections import HttpResponse
from posthouse.errors import PosthouseError, Unavailable
from posthouse.gateway_lifecycle import gateway_lock
from posthouse.server.gateways import Gateways, LiveGateway, NoLiveGateway
from posthouse.server.member import Member
from posthouse.server.observation.tui_observer import TuiObserver
from posthouse.server.observation.tui_observers import TuiObservers
from posthouse.server.requests.tui import TuiRequests
from posthouse.sessions.session import Session
from posthouse.support import files, locks
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.members import member_of


class FakeGateway:
    async def request(self, *_: Any, **__: Any) -> HttpResponse:
        return HttpResponse(status=202, headers=(), body=b'{"request_id": "gwreq-1"}')


@dataclass
class FakeGateways:
    """Has a gateway from the *n*th question on."""

    after: int
    asked: int = field(default=0)

    async def require(self, _: Member) -> LiveGateway:
        self.asked += 1
        if self.asked <= self.after:
            raise NoLiveGateway("it is stuck")
        return cast(LiveGateway, FakeGateway())


NEVER = 10**6


@pytest.fixture
def member(made_session: Session) -> Member:
    return member_of(made_session, backend="local_interactive")


def asking(
    agent: FakeAgent,
    gateways: FakeGateways,
    work: Callable[[TuiRequests], Coroutine[Any, Any, Any]],
    *,
    ready_seconds: float = 60,
) -> Any:
    """What *work* comes to, with requests for that agent."""

    async def run() -> Any:
        eyes = TuiObservers(make=lambda _: TuiObserver(agent, tools.load("scripted")))
        try:
            return await work(TuiRequests(cast(Gateways, gateways), eyes, ready_seconds=ready_seconds))
        finally:
            await eyes.close()

    return asyncio.run(run())


def ready() -> FakeAgent:
    agent = FakeAgent(is_headless=False)
    agent.appear()
    return agent


def test_a_gateway_that_came_meanwhile_gets_the_prompt(member: Member, made_session: Session) -> None:
    """Nothing is typed beside it."""
    agent = ready()
    told = asking(agent, FakeGateways(after=1), lambda asked: asked.prompt(member, made_session, "hi"))

    assert (told, agent.received) == ("accepted by the gateway as gwreq-1", [])


def test_a_gateway_that_owns_the_session_and_is_stuck_is_not_passed_by(
    member: Member, made_session: Session
) -> None:
    """Its process holds its folder, so that nobody else types; neither prompts nor interrupts."""
    agent = ready()
    agent.work_on()
    files.private_folder(made_session.gateway_root / "run")
    with locks.hold(made_session.gateway_root / gateway_lock.LOCK):
        for work in (
            lambda asked: asked.prompt(member, made_session, "hi"),
            lambda asked: asked.interrupt(member, made_session),
        ):
            with pytest.raises(NoLiveGateway, match="it is stuck"):
                asking(agent, FakeGateways(after=NEVER), work)

    assert agent.received == []


@pytest.mark.parametrize(
    "failure", [AgentBusy("another program types"), PromptUnconfirmed("nothing proves it")]
)
def test_what_the_agent_did_not_surely_take_is_unavailable(
    member: Member, made_session: Session, failure: PosthouseError
) -> None:
    """The words say whether something was typed; 409 is for headless turns."""
    agent = ready()
    agent.failure = failure

    with pytest.raises(Unavailable, match=str(failure)):
        asking(agent, FakeGateways(after=NEVER), lambda asked: asked.prompt(member, made_session, "hi"))


def test_a_busy_agent_without_a_queue_is_given_up_on(member: Member, made_session: Session) -> None:
    """One waits for the agent, the other for the first; both are told that nothing was typed."""
    agent = ready()
    agent.show("active")
    agent.be_busy()

    async def twice(asked: TuiRequests) -> list[Any]:
        prompts = [asked.prompt(member, made_session, text) for text in ("one", "two")]
        return await asyncio.gather(*prompts, return_exceptions=True)

    refused = asking(agent, FakeGateways(after=NEVER), twice, ready_seconds=0.2)

    assert [getattr(one, "code", None) for one in refused] == ["agent_not_operable"] * 2
    assert any("not ready within 0.2 s (working); nothing was typed" in str(one) for one in refused)
    assert all("nothing was typed" in str(one) for one in refused)
    assert agent.received == []


def test_prompts_are_typed_one_after_the_other(member: Member, made_session: Session) -> None:
    """Whichever comes second waits until the first was taken."""
    agent = ready()

    async def twice(asked: TuiRequests) -> list[Any]:
        prompts = [asked.prompt(member, made_session, text) for text in ("one", "two")]
        return await asyncio.gather(*prompts)

    told = asking(agent, FakeGateways(after=NEVER), twice)

    assert told == ["accepted by the agent; no gateway was involved"] * 2
    assert sorted(prompt.text for prompt in agent.received) == ["one", "two"]

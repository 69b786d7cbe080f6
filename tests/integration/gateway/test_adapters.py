"""What every agent adapter promises. The fake passes too, which is why tests may use it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from http import HTTPStatus
from typing import Any, Protocol

import pytest

from posthouse import agent
from posthouse.agent.adapter import AgentAdapter, AgentBusy, AgentGone, Prompt, PromptProgress, PromptResult
from posthouse.errors import InvalidInput, PosthouseError
from posthouse.sessions import publication
from posthouse.sessions.launch_files import ManagedBy
from posthouse.sessions.session import Session
from posthouse.terminal import keys
from posthouse.terminal import session as terminal
from posthouse.testing import server as server_module
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for
from posthouse.turns.runner import new_turn_id

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any
HEADLESS_STEPS = ["submitted", "acknowledged"]
TYPED_STEPS = ["typed", "submitted", "acknowledged"]


class Subject(Protocol):
    """One agent behind an open adapter, and what a test can make it do."""

    adapter: AgentAdapter

    def answering(self) -> str:
        """A prompt whose turn ends by itself, soon."""

    def lasting(self) -> str:
        """A prompt whose turn goes on until it is interrupted."""

    async def go_away(self) -> None:
        """End the agent."""


class Real:
    """A scripted agent in a real tmux."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.adapter = agent.for_gateway(session, publication.attach_of(session).backend_metadata)

    def answering(self) -> str:
        return "hello [[say hello]]"

    def lasting(self) -> str:
        return "long [[wait 600]]"

    async def go_away(self) -> None:
        await asyncio.to_thread(terminal.kill, self._session.tmux, self._session.tmux_session_name)


class Fake:
    """An agent in memory."""

    def __init__(self, *, is_headless: bool) -> None:
        self._agent = FakeAgent(is_headless=is_headless)
        self._agent.appear()
        self.adapter: AgentAdapter = self._agent

    def answering(self) -> str:
        self._agent.ends_by_itself = True
        return "hello"

    def lasting(self) -> str:
        self._agent.work_on()
        return "long"

    async def go_away(self) -> None:
        self._agent.vanish()


Opener = Callable[[], AbstractAsyncContextManager[Subject]]


@pytest.fixture
def managed(house: House) -> Iterator[Callable[[], Session]]:
    """Launches a headless agent whose turns a server takes."""
    with ExitStack() as ending:

        def launch() -> Session:
            server = ending.enter_context(server_module.serving(house.agents))
            owner = ManagedBy(api_base_url=server.base_url, agent_ref="abcdef012345")
            made: Session = house.launch(headless=True, managed_by=owner)
            wait_for(lambda: server.get("/houmao/agents/abcdef012345").status == HTTPStatus.OK)
            return made

        yield launch


@pytest.fixture(params=["fake headless", "fake tui", "headless", "managed headless", "tui"])
def opened(request: pytest.FixtureRequest, house: House, managed: Callable[[], Session]) -> Opener:
    """Opens the adapter of an agent that stands ready."""
    kind, is_headless = request.param, "headless" in request.param
    session: Session | None = None
    if "fake" not in kind:
        session = managed() if "managed" in kind else house.launch(headless=is_headless)

    @asynccontextmanager
    async def opener() -> AsyncIterator[Subject]:
        subject = Fake(is_headless=is_headless) if session is None else Real(session)
        await subject.adapter.open(lambda: None)
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                await subject.adapter.wait_ready()
            yield subject
        finally:
            await subject.adapter.close()

    return opener


def run(opened: Opener, story: Callable[[Subject], Awaitable[None]]) -> None:
    async def told() -> None:
        async with opened() as subject, asyncio.timeout(LIMIT_SECONDS):
            await story(subject)

    asyncio.run(told())


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    while not await condition():
        await asyncio.sleep(0.02)


def prompt(subject: Subject, text: str, **more: Any) -> Prompt:
    return Prompt(text=text, turn_id=new_turn_id() if subject.adapter.is_headless else None, **more)


def test_a_prompt_is_told_step_by_step_to_its_end(opened: Opener) -> None:
    """Each step once, in order; a headless turn's end before it returns, a TUI's in its transcript."""

    async def story(subject: Subject) -> None:
        heard: list[PromptProgress | PromptResult] = []
        asked = prompt(subject, subject.answering())
        await subject.adapter.execute(asked, on_progress=heard.append)
        steps = [news.stage for news in heard if isinstance(news, PromptProgress)]
        endings = [news.outcome for news in heard if isinstance(news, PromptResult)]

        async def has_ended() -> bool:
            told = await subject.adapter.exchanges()
            return [one.outcome for one in told] == ["success"]

        if subject.adapter.is_headless:
            assert (steps, endings, await subject.adapter.exchanges()) == (
                HEADLESS_STEPS,
                ["completed"],
                (),
            )
        else:
            # A TUI may be seen to work before its transcript says so.
            assert (steps, endings) in ((TYPED_STEPS, []), (TYPED_STEPS[:2], []))
            await until(has_ended)
            (exchange,) = await subject.adapter.exchanges()
            assert exchange.prompt == asked.text
        assert all(news.evidence for news in heard)

    run(opened, story)


def test_a_turn_can_be_interrupted_once(opened: Opener) -> None:
    """While it runs it is there to be interrupted; afterwards there is none."""

    async def story(subject: Subject) -> None:
        adapter = subject.adapter
        assert await adapter.running_turn() is None
        asked = prompt(subject, subject.lasting())
        heard: list[PromptProgress | PromptResult] = []
        giving = asyncio.create_task(adapter.execute(asked, on_progress=heard.append))

        async def is_at_work() -> bool:
            return await adapter.running_turn() is not None

        await until(is_at_work)
        turn = await adapter.running_turn()
        assert turn is not None
        assert turn.turn_id == asked.turn_id
        if not adapter.is_headless:
            await giving

        async def is_over() -> bool:
            return await adapter.running_turn() is None

        assert await turn.interrupt()
        await until(is_over)
        if adapter.is_headless:
            with pytest.raises(PosthouseError):
                await giving
            assert [news.outcome for news in heard if isinstance(news, PromptResult)] == ["interrupted"]

    run(opened, story)


def test_another_instance_gets_nothing(opened: Opener) -> None:
    """What was meant for an agent that was replaced is refused, and nothing is told."""

    async def story(subject: Subject) -> None:
        heard: list[PromptProgress | PromptResult] = []
        meant = prompt(subject, subject.answering(), instance_id="somebody else")

        with pytest.raises(AgentBusy):
            await subject.adapter.execute(meant, on_progress=heard.append)
        assert heard == []

    run(opened, story)


def test_an_agent_that_is_there_says_who_it_is(opened: Opener) -> None:
    """Connected, ready, and the same instance at every look; a headless one has no screen."""

    async def story(subject: Subject) -> None:
        adapter = subject.adapter
        first, second = await adapter.refresh(), adapter.status

        assert (first.connectivity, first.eligibility, first.is_known) == ("connected", "ready", True)
        assert first.instance_id is not None
        assert first.instance_id == second.instance_id
        assert (adapter.observation is None) == adapter.is_headless

    run(opened, story)


def test_raw_keys_are_for_tuis(opened: Opener) -> None:
    """A headless agent refuses them; a TUI shows what was typed."""

    async def story(subject: Subject) -> None:
        typed = keys.parse("abc")
        if subject.adapter.is_headless:
            with pytest.raises(InvalidInput, match="raw keys are for TUIs") as refused:
                await subject.adapter.send_keys(typed)
            assert refused.value.code == "no_raw_input"
        else:
            await subject.adapter.send_keys(typed)

    run(opened, story)


def test_an_agent_that_is_gone_is_said_to_be(opened: Opener) -> None:
    """Nothing can be given to it, nobody waits for it for ever, and no turn of it is made up."""

    async def story(subject: Subject) -> None:
        adapter = subject.adapter
        assert await adapter.turn_result("turn-that-never-was") is None
        asked = prompt(subject, subject.answering())
        await subject.go_away()

        async def is_gone() -> bool:
            return (await adapter.refresh()).connectivity == "unavailable"

        await until(is_gone)
        assert (adapter.status.instance_id, bool(adapter.status.detail)) == (None, True)
        with pytest.raises(AgentGone):
            await adapter.wait_ready()
        with pytest.raises(AgentGone):
            await adapter.execute(asked)
        assert await adapter.running_turn() is None

    run(opened, story)

"""Watching TUIs from here, without a terminal."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from posthouse import tools
from posthouse.agent.adapter import AgentBusy
from posthouse.server.observation import tui_observers as module
from posthouse.server.observation.tui_observer import MAX_TRANSITIONS, TuiObserver
from posthouse.server.observation.tui_observers import TuiObservers
from posthouse.sessions.session import Session
from posthouse.testing.gateway import FakeAgent

Until = Callable[[Callable[[], bool]], Awaitable[None]]


class _Agent(FakeAgent):
    """A TUI that knows whether somebody watches it."""

    is_watched = False

    async def open(self, on_change: Callable[[], None]) -> None:
        self.is_watched = True
        await super().open(on_change)

    async def close(self) -> None:
        self.is_watched = False
        await super().close()


@dataclass
class Maker:
    """Makes eyes, and knows whom they look at."""

    agents: list[_Agent] = field(default_factory=list)

    def __call__(self, _: Session) -> TuiObserver:
        agent = _Agent(is_headless=False)
        agent.appear()
        self.agents.append(agent)
        return TuiObserver(agent, tools.load("scripted"))

    @property
    def watched(self) -> list[bool]:
        return [agent.is_watched for agent in self.agents]


def test_those_who_ask_share_an_eye_that_closes_after_them(made_session: Session, until: Until) -> None:
    """It is opened once, lives on for a while, and is another one for whoever comes later."""
    maker = Maker()

    async def scenario() -> None:
        eyes = TuiObservers(idle_seconds=0.01, make=maker)
        async with eyes.observe(made_session) as first, eyes.observe(made_session) as second:
            assert first is second
            assert maker.watched == [True]
        await until(lambda: maker.watched == [False])
        async with eyes.observe(made_session):
            assert maker.watched == [False, True]
        await eyes.close()

    asyncio.run(scenario())

    assert maker.watched == [False, False]


def test_an_eye_in_use_outlives_its_time_and_a_stop(made_session: Session, until: Until) -> None:
    """Only what nobody looks through is closed."""
    maker = Maker()

    async def scenario() -> None:
        eyes = TuiObservers(idle_seconds=0, make=maker)
        async with eyes.observe(made_session):
            async with eyes.observe(made_session):
                pass
            eyes.forget(str(made_session.manifest_path))
            for _ in range(50):  # whatever was about to happen has happened
                await asyncio.sleep(0.001)
            assert maker.watched == [True]
        await until(lambda: maker.watched == [False])
        await eyes.close()

    asyncio.run(scenario())


def test_idle_eyes_are_few(made_session: Session, until: Until) -> None:
    """Beyond the limit, those that were asked for least lately close first."""
    maker = Maker()
    sessions = [
        Session(made_session.root / str(number), made_session.manifest)
        for number in range(module.MAX_IDLE + 2)
    ]

    async def scenario() -> None:
        eyes = TuiObservers(make=maker)
        for session in sessions:
            async with eyes.observe(session):
                pass
        await until(lambda: maker.watched == [False] * 2 + [True] * module.MAX_IDLE)
        eyes.forget(str(sessions[-1].manifest_path))
        await until(lambda: not maker.watched[-1])
        await eyes.close()

    asyncio.run(scenario())

    assert not any(maker.watched)


def test_changes_are_kept_while_nobody_asks_and_only_so_many() -> None:
    """Each change is one transition, the newest are kept, also without a look."""

    async def scenario() -> None:
        agent = FakeAgent(is_headless=False)
        agent.appear()
        eye = TuiObserver(agent, tools.load("scripted"))
        await eye.open()
        for number in range(MAX_TRANSITIONS):
            agent.show("active" if number % 2 else "blocked")
        seen = await eye.refresh()
        await eye.close()

        assert len(seen.transitions) == MAX_TRANSITIONS
        assert [one.turn_phase for one in seen.transitions[-3:]] == ["active", "unknown", "active"]
        assert seen.turn.phase == "active"

    asyncio.run(scenario())


def test_a_prompt_that_goes_in_is_a_turn_and_one_that_was_refused_is_none() -> None:
    """What is about to be typed counts at once; what was not typed after all does not."""

    async def scenario() -> None:
        agent = FakeAgent(is_headless=False)
        agent.appear()
        eye = TuiObserver(agent, tools.load("scripted"))
        await eye.open()
        await eye.refresh()
        try:
            with eye.note_prompt():
                during = (await eye.refresh()).turn.phase
                raise AgentBusy("nothing was typed")
        except AgentBusy:
            after = (await eye.refresh()).turn.phase
        await eye.close()

        assert (during, after) == ("active", "ready")

    asyncio.run(scenario())

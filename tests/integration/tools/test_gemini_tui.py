"""The real Gemini CLI's TUI in a real tmux, driven by the product's own hands."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from posthouse.support import processes
from posthouse.terminal import keys, session
from posthouse.terminal.client import Server, Tmux
from posthouse.terminal.control import ControlClient
from posthouse.terminal.delivery import Delivery, Typist
from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import Surface
from posthouse.testing import clis, leftovers
from posthouse.testing.model_api import ModelApi
from posthouse.tools import spool
from posthouse.tools.gemini.profile import TOOL
from posthouse.tools.tool import Chat, Launch, Meaning, Permissions, Setup

LIMIT_SECONDS = 60.0
MODEL = "gemini-2.5-flash"
NEW = Chat()
POLL_SECONDS = 0.05


class Agent:
    """One TUI agent: its home, its pane and what the model API was asked."""

    def __init__(self, folder: Path, server: Server, api: ModelApi) -> None:
        self.api = api
        self.home, self.where, self.spool = folder / "home", folder / "proj", folder / "hooks"
        self.where.mkdir()
        self.spool.mkdir()
        self._server, self._tmux = server, Tmux(server)
        self._secrets = {"GEMINI_API_KEY": clis.API_KEY, "GOOGLE_GEMINI_BASE_URL": api.base_url}
        self.pane = session.create(self._tmux, "agent", working_directory=self.where, environment={})

    def start(
        self, chat: Chat = NEW, *, permissions: Permissions = "ask", role: str = "", level: int | None = None
    ) -> Pane:
        """Prepare the home as a launch does, and start the program in the agent's pane."""
        TOOL.prepare_home(
            Setup(
                home=self.home,
                working_directory=self.where,
                user_home=self.home.parent,
                login="env",
                spool=self.spool,
                variables=self._secrets,
            )
        )
        launch = Launch(
            home=self.home,
            working_directory=self.where,
            role_name="scribe",
            role_text=role,
            model=MODEL,
            reasoning_level=level,
            permissions=permissions,
        )
        program = TOOL.tui_program(launch, chat)
        self.pane = session.start_program(
            self._tmux,
            self.pane,
            program.argv,
            environment={
                **program.environment,
                **self._secrets,
                **clis.NO_NETWORK,
                "HOME": str(self.home.parent),
                "TMPDIR": str(self.home),
            },
            working_directory=self.where,
        )
        return self.pane

    @asynccontextmanager
    async def hands(self) -> AsyncIterator[Typist]:
        client = await ControlClient.attach(self._server, "agent", output=True)
        try:
            yield Typist(client, self.pane.pane_id, TOOL, lock_path=self.home / "pane.lock")
        finally:
            await client.close()

    async def deliver(self, typist: Typist, prompt: str) -> Delivery:
        """Give the agent *prompt* when it is ready."""
        ready = await typist.wait_ready(LIMIT_SECONDS)
        assert ready.state == "ready", ready
        told = self.meanings().count("submitted")
        return await typist.submit(prompt, acknowledged=lambda: self.meanings().count("submitted") > told)

    def prompts(self) -> list[str]:
        """What the model was asked, in order."""
        return [asked.prompt for asked in self.api.main_records()]

    def meanings(self) -> list[Meaning | None]:
        return [TOOL.meaning(report) for _, report in spool.read(self.spool)]

    def stop(self) -> list[processes.Process]:
        """End it as the product does; what still lives."""
        running = processes.tree(self.pane.pid)
        session.kill(self._tmux, "agent")
        return processes.end(running)


@pytest.fixture
def agent(
    agent_clis: Path,
    model_api: ModelApi,
    cli_home: Path,
    tmux_server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Agent]:
    """A TUI agent that talks to the scripted model API, not started yet."""
    monkeypatch.setenv("PATH", clis.search_path(agent_clis, os.environ["PATH"]))
    made = Agent(cli_home, tmux_server, model_api)
    yield made
    made.stop()


async def _ended(agent: Agent, typist: Typist) -> None:
    """Wait until every turn that was begun has ended: the title tells of a turn later than its hook."""
    await _until(typist, lambda _: agent.meanings().count("ended") == agent.meanings().count("submitted"))
    await _until(typist, lambda surface: surface.state == "ready")


async def _until(typist: Typist, condition: Callable[[Surface], bool]) -> Surface:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not condition(surface := await typist.surface()):
            await asyncio.sleep(POLL_SECONDS)
    return surface


def test_a_day_in_the_life_of_a_tui(agent: Agent) -> None:
    """Start, prompts, interrupt, dialog, exit and restart: each is seen for what it is."""
    asyncio.run(_day(agent))

    assert agent.stop() == []
    assert leftovers.users_of(agent.home) == []


async def _day(agent: Agent) -> None:
    agent.start(role="Write everything down.", level=1)
    async with agent.hands() as typist:
        await _answers(agent, typist)
        await _has_a_draft(agent, typist)
        await _is_interrupted(agent, typist)
        await _asks(agent, typist)
        await _is_cleared(agent, typist)
        await _exits(typist)
    first = TOOL.exchanges(agent.home, agent.where)
    assert [each.prompt for each in first] == ["the last mock:ok"]
    agent.start(Chat(mode="latest"), role="Write everything down.")
    async with agent.hands() as typist:
        assert (await agent.deliver(typist, "back again mock:ok")).outcome == "submitted"
        await _ended(agent, typist)
    told = [(each.prompt, each.outcome) for each in TOOL.exchanges(agent.home, agent.where)]
    assert told == [("the last mock:ok", "success"), ("back again mock:ok", "success")]
    assert (agent.prompts()[-1], agent.api.main_records()[-1].turns) == ("back again mock:ok", 3)


async def _answers(agent: Agent, typist: Typist) -> None:
    """The role is the first prompt; then one is typed, and its answer is in the transcript."""
    role = "[Your role: scribe]\nWrite everything down.\n[End of your role]"
    await asyncio.to_thread(agent.api.wait, lambda asked: len(asked) == 1, seconds=LIMIT_SECONDS)
    delivery = await agent.deliver(typist, "hello mock:ok")
    await _ended(agent, typist)

    assert delivery.outcome == "submitted"
    assert agent.prompts() == [role, "hello mock:ok"]
    assert agent.api.main_records()[-1].effort == {"includeThoughts": True, "thinkingBudget": 512}
    assert agent.meanings() == ["submitted", "ended"] * 2
    last = TOOL.exchanges(agent.home, agent.where)[-1]
    assert (last.prompt, last.answer, last.outcome) == ("hello mock:ok", "OK", "success")


async def _has_a_draft(agent: Agent, typist: Typist) -> None:
    """What a person has begun to write is not overwritten, and not sent."""
    asked = agent.prompts()
    await typist.press(keys.parse("mine", literal=True))
    await _until(typist, lambda surface: surface.composer == "mine")
    refused = await typist.submit("yours", acknowledged=lambda: False)
    await typist.press(keys.parse("<[BSpace]>" * len("mine")))
    await _until(typist, lambda surface: surface.state == "ready")

    assert (refused.outcome, refused.reason, agent.prompts()) == ("refused", "draft", asked)


async def _is_interrupted(agent: Agent, typist: Typist) -> None:
    """Escape ends a turn, and on an idle agent types nothing."""
    assert not await typist.interrupt()
    assert (await agent.deliver(typist, "mock:slow")).outcome == "submitted"
    await _until(typist, lambda surface: surface.state == "active")
    assert await typist.interrupt()
    await _ended(agent, typist)

    assert TOOL.exchanges(agent.home, agent.where)[-1].outcome == "interrupted"


async def _asks(agent: Agent, typist: Typist) -> None:
    """A permission dialog is seen, refuses prompts, and is told by a hook."""
    assert (await agent.deliver(typist, "mock:shell mock:ok")).outcome == "submitted"
    surface = await _until(typist, lambda surface: surface.state == "blocked")
    refused = await typist.submit("into the dialog", acknowledged=lambda: False)

    assert surface.dialog == "permission"
    assert (refused.outcome, refused.reason) == ("refused", "blocked:permission")
    assert agent.meanings()[-1] == "asking"
    await typist.press(keys.parse("<[Enter]>"))
    await _ended(agent, typist)
    assert (agent.where / "mock-made-this.txt").exists()


async def _is_cleared(agent: Agent, typist: Typist) -> None:
    """The reset command starts a conversation that knows nothing of the old one."""
    await typist.press(keys.parse(TOOL.reset_command, literal=True))
    await _until(typist, lambda surface: surface.composer == TOOL.reset_command)
    await typist.press(keys.parse("<[Enter]>"))
    await _until(typist, lambda _: TOOL.exchanges(agent.home, agent.where) == [])
    assert (await agent.deliver(typist, "the last mock:ok")).outcome == "submitted"
    await _ended(agent, typist)

    assert agent.api.main_records()[-1].turns == 2  # the CLI's own word, and ours


async def _exits(typist: Typist) -> None:
    await typist.press(keys.parse("/quit", literal=True))
    await _until(typist, lambda surface: surface.composer == "/quit")
    await typist.press(keys.parse("<[Enter]>"))
    await _until(typist, lambda surface: surface.state == "exited")


PROMPTS = (
    "!ls is no command mock:ok",
    "Message first: /help is talk mock:ok",
    "ends with a backslash mock:ok \\",
    "mail for bob@example",
    "two\nlines\n\n\tand a tab mock:ok",
    "/help me mock:ok",
    "  spaces around mock:ok  ",
    "café \u200bzero e\u0301 mock:ok",
    "lines\n" * 20 + "mock:ok",
    "a line of a hundred kilobytes\n" * 3400 + "mock:ok",
)
ARRIVED = (
    "!ls is no command mock:ok",
    "Message first: /help is talk mock:ok",
    "ends with a backslash mock:ok \\",
    "mail for bob@example",
    "two\nlines\n\n\tand a tab mock:ok",
    "Message:\n/help me mock:ok",
    "spaces around mock:ok",
    "café zero \u00e9 mock:ok",
    "lines\n" * 20 + "mock:ok",
    "a line of a hundred kilobytes\n" * 3400 + "mock:ok",
)


def test_prompts_of_every_shape_arrive_once_and_exactly(agent: Agent) -> None:
    """What the model was asked is what was claimed, with every permission given too."""
    deliveries = asyncio.run(_deliver_all(agent))

    assert [delivery.outcome for delivery in deliveries] == ["submitted"] * len(PROMPTS)
    assert [len(prompt) for prompt in ARRIVED] == [each.prompt_chars for each in agent.api.main_records()]
    assert [prompt[-2000:] for prompt in ARRIVED] == agent.prompts()
    assert [each.prompt.strip() for each in TOOL.exchanges(agent.home, agent.where)] == list(ARRIVED)


async def _deliver_all(agent: Agent) -> list[Delivery]:
    agent.start(permissions="all")
    async with agent.hands() as typist:
        return [await _one(agent, typist, prompt) for prompt in PROMPTS]


async def _one(agent: Agent, typist: Typist, prompt: str) -> Delivery:
    delivery = await agent.deliver(typist, prompt)
    await _ended(agent, typist)
    return delivery

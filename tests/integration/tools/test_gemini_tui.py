"""The real Gemini CLI's TUI in a real tmux, driven by the product."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import pytest

from posthouse.support import processes
from posthouse.terminal import keys
from posthouse.terminal.delivery import Delivery, KeysNotTaken, PaneWriter
from posthouse.terminal.pane import Pane
from posthouse.testing import clis, leftovers
from posthouse.testing.cli_rig import Place, Subject
from posthouse.testing.tui_rig import TuiAgent, submitted, until
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.tools.gemini.profile import TOOL
from posthouse.tools.tool import Chat, Launch

MODEL = "gemini-2.5-flash"


@pytest.fixture
def agent(place: Place) -> Iterator[TuiAgent]:
    """An agent that talks to the scripted model API, not started yet."""
    subject = Subject(
        tool=TOOL,
        launch=Launch(home=place.home, working_directory=place.where, role_name="scribe", model=MODEL),
        secrets={"GEMINI_API_KEY": clis.API_KEY, "GOOGLE_GEMINI_BASE_URL": place.api.base_url},
        # It leaves reports of errors there, with the whole conversation.
        environment={"TMPDIR": str(place.home)},
    )
    made = TuiAgent(place, subject)
    yield made
    made.stop()


async def _ended(agent: TuiAgent, writer: PaneWriter) -> None:
    """Wait until every turn that was begun has ended: the title tells of a turn later than its hook."""
    await until(writer, lambda _: agent.meanings().count("ended") == agent.meanings().count("submitted"))
    await until(writer, lambda surface: surface.state == "ready")


async def _deliver(agent: TuiAgent, writer: PaneWriter, prompt: str) -> Delivery:
    """Give the agent *prompt* when it is ready."""
    ready = await writer.wait_ready(LIMIT_SECONDS)
    assert ready.state == "ready", ready
    told = agent.meanings().count("submitted")
    return await submitted(
        writer,
        lambda: writer.submit(prompt, acknowledged=lambda: agent.meanings().count("submitted") > told),
    )


def test_a_day_in_the_life_of_a_tui(agent: TuiAgent) -> None:
    """Start, prompts, interrupt, dialog, exit and restart: each is seen for what it is."""
    pane = asyncio.run(_day(agent))
    running = processes.tree(pane.pid)
    agent.stop()

    assert processes.end(running) == []
    agent.wait(lambda: leftovers.users_of(agent.home) == [])


async def _day(agent: TuiAgent) -> Pane:
    """The pane at its end."""
    await asyncio.to_thread(agent.start, role="Write everything down.", level=1)
    async with agent.pane_writer() as writer:
        await _answers(agent, writer)
        await _has_a_draft(agent, writer)
        await _is_interrupted(agent, writer)
        await _asks(agent, writer)
        await _is_cleared(agent, writer)
        await _exits(writer)
    first = agent.exchanges()
    assert [each.prompt for each in first] == ["the last mock:ok"]
    pane = await asyncio.to_thread(agent.start, Chat(mode="latest"), role="Write everything down.")
    async with agent.pane_writer() as writer:
        assert (await _deliver(agent, writer, "back again mock:ok")).outcome == "submitted"
        await _ended(agent, writer)
    told = [(each.prompt, each.outcome) for each in agent.exchanges()]
    assert told == [("the last mock:ok", "success"), ("back again mock:ok", "success")]
    assert (agent.prompts()[-1], agent.api.main_records()[-1].turns) == ("back again mock:ok", 3)
    return pane


async def _answers(agent: TuiAgent, writer: PaneWriter) -> None:
    """The role is the first prompt; then one is typed, and its answer is in the transcript."""
    role = "[Your role: scribe]\nWrite everything down.\n[End of your role]"
    await asyncio.to_thread(agent.api.wait, lambda asked: len(asked) == 1, seconds=LIMIT_SECONDS)
    delivery = await _deliver(agent, writer, "hello mock:ok")
    await _ended(agent, writer)

    assert delivery.outcome == "submitted"
    assert agent.prompts() == [role, "hello mock:ok"]
    assert agent.api.main_records()[-1].effort == {"includeThoughts": True, "thinkingBudget": 512}
    assert agent.meanings() == ["submitted", "ended"] * 2
    last = agent.exchanges()[-1]
    assert (last.prompt, last.answer, last.outcome) == ("hello mock:ok", "OK", "success")
    assert last.usage == {
        "input_tokens": 10,
        "cached_input_tokens": 0,
        "output_tokens": 5,
        "thoughts_token_count": 0,
        "total_tokens": 15,
    }


async def _has_a_draft(agent: TuiAgent, writer: PaneWriter) -> None:
    """What a person has begun to write is not overwritten, and not sent."""
    asked = agent.prompts()
    await writer.press(keys.parse("mine", literal=True))
    await until(writer, lambda surface: surface.composer == "mine")
    refused = await writer.submit("yours", acknowledged=lambda: False)
    await writer.press(keys.parse("<[BSpace]>" * len("mine")))
    await until(writer, lambda surface: surface.state == "ready")

    assert (refused.outcome, refused.reason, agent.prompts()) == ("refused", "draft", asked)


async def _is_interrupted(agent: TuiAgent, writer: PaneWriter) -> None:
    """Escape ends a turn, and on an idle agent types nothing."""
    assert not await writer.interrupt()
    assert (await _deliver(agent, writer, "mock:slow")).outcome == "submitted"
    await until(writer, lambda surface: surface.state == "active")
    assert await writer.interrupt()
    await _ended(agent, writer)

    assert agent.exchanges()[-1].outcome == "interrupted"


async def _asks(agent: TuiAgent, writer: PaneWriter) -> None:
    """A permission dialog is seen, refuses prompts, and is told by a hook."""
    assert (await _deliver(agent, writer, "mock:shell mock:ok")).outcome == "submitted"
    await until(writer, lambda surface: surface.dialog == "permission")
    refused = await writer.submit("into the dialog", acknowledged=lambda: False)

    assert (refused.outcome, refused.reason) == ("refused", "blocked:permission")
    assert agent.meanings()[-1] == "asking"
    await writer.press(keys.parse("<[Enter]>"))
    await _ended(agent, writer)
    assert (agent.where / "mock-made-this.txt").exists()


async def _is_cleared(agent: TuiAgent, writer: PaneWriter) -> None:
    """The reset command starts a conversation that knows nothing of the old one."""
    await writer.wait_ready(LIMIT_SECONDS)
    await writer.submit(TOOL.reset_command, acknowledged=lambda: agent.exchanges() == [])
    await until(writer, lambda _: agent.exchanges() == [])
    assert (await _deliver(agent, writer, "the last mock:ok")).outcome == "submitted"
    await _ended(agent, writer)

    assert agent.api.main_records()[-1].turns == 2  # the CLI's own word, and ours


async def _exits(writer: PaneWriter) -> None:
    await writer.press(keys.parse("/quit", literal=True))
    await until(writer, lambda surface: surface.composer == "/quit")
    with suppress(KeysNotTaken):  # its last screen may stand for a moment after it has ended
        while (await writer.surface()).composer == "/quit":  # too soon, Enter is a newline or a choice
            await asyncio.sleep(TOOL.settle_seconds)
            await writer.press(keys.parse("<[Enter]>"))
    await until(writer, lambda surface: surface.state == "exited")


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


def test_prompts_of_every_shape_arrive_once_and_exactly(agent: TuiAgent) -> None:
    """What the model was asked is what was claimed, with every permission given too."""
    deliveries = asyncio.run(_deliver_all(agent))

    assert [(one.outcome, one.reason) for one in deliveries if one.outcome != "submitted"] == []
    assert [len(prompt) for prompt in ARRIVED] == [each.prompt_chars for each in agent.api.main_records()]
    assert [prompt[-2000:] for prompt in ARRIVED] == agent.prompts()
    assert [each.prompt.strip() for each in agent.exchanges()] == list(ARRIVED)


async def _deliver_all(agent: TuiAgent) -> list[Delivery]:
    await asyncio.to_thread(agent.start, permissions="all")
    async with agent.pane_writer() as writer:
        return [await _one(agent, writer, prompt) for prompt in PROMPTS]


async def _one(agent: TuiAgent, writer: PaneWriter, prompt: str) -> Delivery:
    delivery = await _deliver(agent, writer, prompt)
    await _ended(agent, writer)
    return delivery

"""Prompts typed by the product arrive exactly, whatever the persona does to them."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from posthouse.support import processes
from posthouse.terminal import session
from posthouse.terminal.client import Server, Tmux
from posthouse.terminal.control import ControlClient
from posthouse.terminal.delivery import Delivery, PaneWriter
from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import Surface
from posthouse.testing.truth import TruthLog
from posthouse.tools.scripted.profile import TOOL
from posthouse.tools.tool import Chat, Launch, Setup

PERSONAS = [
    *("plain", "claude", "codex", "gemini", "claude+lagging"),
    *("claude+no-transcript", "codex+no-transcript", "gemini+no-transcript"),
]


@dataclass(frozen=True, slots=True)
class Running:
    """A TUI in a session of its own."""

    server: Server
    pane: Pane
    home: Path
    where: Path

    @property
    def truth(self) -> TruthLog:
        return TruthLog(self.home / "truth.jsonl")

    def deliver(self, *prompts: str) -> list[Delivery]:
        """Give the agent one prompt after the other, each when it is ready."""
        return asyncio.run(self._deliver(prompts))

    async def _deliver(self, prompts: tuple[str, ...]) -> list[Delivery]:
        client = await ControlClient.attach(self.server, self.pane.session_name, output=True)
        try:
            writer = PaneWriter(client, self.pane.pane_id, TOOL, lock_path=self.home / "pane.lock")
            return [await self._one(writer, prompt) for prompt in prompts]
        finally:
            await client.close()

    async def _one(self, writer: PaneWriter, prompt: str) -> Delivery:
        ready: Surface = await writer.wait_ready(10)
        assert ready.state == "ready", ready
        taken = len(TOOL.exchanges(self.home, self.where))
        return await writer.submit(
            prompt, acknowledged=lambda: len(TOOL.exchanges(self.home, self.where)) > taken
        )


Start = Callable[[str], Running]


@pytest.fixture
def start(tmux_server: Server, tmp_path: Path) -> Iterator[Start]:
    """Starts a TUI as some persona, in a trusted folder."""
    tmux = Tmux(tmux_server)
    home, where = tmp_path / "home", tmp_path / "proj"
    where.mkdir()
    started: list[Pane] = []

    def start(persona: str) -> Running:
        TOOL.prepare_home(Setup(home=home, working_directory=where, user_home=home))
        launch = Launch(home=home, working_directory=where, role_name="r", args=("--persona", persona))
        program = TOOL.tui_program(launch, Chat())
        pane = session.create(tmux, "agent", working_directory=where, environment={})
        started.append(
            session.start_program(
                tmux, pane, program.argv, environment=program.environment, working_directory=where
            )
        )
        return Running(tmux_server, started[-1], home, where)

    yield start
    for pane in started:
        processes.end(processes.tree(pane.pid))


@pytest.mark.parametrize("persona", PERSONAS)
def test_prompts_arrive_once_and_in_order(start: Start, persona: str) -> None:
    """Short, long, hostile: each is submitted, and the truth log has each exactly once."""
    agent = start(persona)
    prompts = ["hello", "two\nlines", "!touch ran", "/nope x", "ends with \\", "\n".join(["line"] * 40)]

    deliveries = agent.deliver(*prompts)

    assert [delivery.outcome for delivery in deliveries] == ["submitted"] * len(prompts)
    expected = [TOOL.escape_prompt(text).strip() for text in prompts]
    assert [text.strip() for text in agent.truth.prompts()] == expected
    assert agent.truth.events("shell", "unknown_command", "lost") == []


def test_a_dialog_refuses_the_prompt(start: Start) -> None:
    """Nothing is typed into a question."""
    agent = start("claude")
    first, second = asyncio.run(_ask_then_submit(agent))

    assert (first.outcome, second.outcome, second.reason) == ("submitted", "refused", "blocked:permission")
    assert agent.truth.prompts() == ["[[permission]]"]


async def _ask_then_submit(agent: Running) -> tuple[Delivery, Delivery]:
    client = await ControlClient.attach(agent.server, agent.pane.session_name, output=True)
    try:
        writer = PaneWriter(client, agent.pane.pane_id, TOOL, lock_path=agent.home / "pane.lock")
        await writer.wait_ready(10)
        asked = await writer.submit("[[permission]]", acknowledged=lambda: bool(agent.truth.prompts()))
        await asyncio.to_thread(agent.truth.wait, lambda log: bool(log.events("dialog")))
        while (await writer.surface()).state != "blocked":
            await asyncio.sleep(0.02)
        return asked, await writer.submit("next", acknowledged=lambda: False)
    finally:
        await client.close()

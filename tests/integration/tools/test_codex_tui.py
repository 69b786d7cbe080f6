"""The real Codex's TUI in a real tmux, typed into by the product's own hands."""

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

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
from posthouse.tools.codex.profile import TOOL
from posthouse.tools.tool import Chat, Exchange, Launch, Permissions, Setup

LIMIT_SECONDS = 30
NEW = Chat()
HOSTILE = [
    "!touch ran",
    "  !touch ran",
    "/quit now",
    " /new",
    "look at @notes",
    "with $imag",
    "two\n\n\tlines \\",
    "ünï e\u0301 日本語",
    "1. first\n› 2. second",
    "?",
    "words " * 4000,
]
#: Asks for a command that needs a person's word whatever the sandbox allows.
ESCALATION = {
    "tool": "exec_command",
    "args": {
        "cmd": "touch asked",
        "sandbox_permissions": "require_escalated",
        "justification": "scripted need",
    },
}
Result = TypeVar("Result")


class Agent:
    """A TUI in a session of its own."""

    def __init__(self, folder: Path, server: Server, api: ModelApi) -> None:
        self.api = api
        self.home, self.where, self.spool = folder / "home", folder / "proj", folder / "hooks"
        self.where.mkdir()
        self.spool.mkdir()
        self._server, self._tmux = server, Tmux(server)
        self._variables = {"OPENAI_API_KEY": clis.API_KEY}
        self._pane: Pane | None = None

    def start(
        self, chat: Chat = NEW, *, permissions: Permissions = "edits", columns: int = 120, rows: int = 40
    ) -> Pane:
        """Start the program and wait until it is ready."""
        TOOL.prepare_home(
            Setup(
                home=self.home,
                working_directory=self.where,
                user_home=self.home.parent,
                login="env",
                spool=self.spool,
                variables={"OPENAI_BASE_URL": f"{self.api.base_url}/v1", **self._variables},
            )
        )
        launch = Launch(
            home=self.home,
            working_directory=self.where,
            role_name="r",
            model="gpt-5",
            permissions=permissions,
        )
        program = TOOL.tui_program(launch, chat)
        empty = self._pane or session.create(
            self._tmux,
            "agent",
            working_directory=self.where,
            environment={},
            columns=columns,
            rows=rows,
        )
        self._pane = session.start_program(
            self._tmux,
            empty,
            program.argv,
            environment={
                **program.environment,
                **self._variables,
                **clis.NO_NETWORK,
                "HOME": str(self.home.parent),
            },
            working_directory=self.where,
        )
        assert self.use(lambda typist: typist.wait_ready(LIMIT_SECONDS)).state == "ready"
        return self._pane

    def use(self, work: Callable[[Typist], Awaitable[Result]]) -> Result:
        """Do *work* with a typist of the pane."""

        async def run() -> Result:
            assert self._pane is not None
            client = await ControlClient.attach(self._server, "agent", output=True)
            try:
                lock = self.home.parent / "pane.lock"
                return await work(Typist(client, self._pane.pane_id, TOOL, lock_path=lock))
            finally:
                await client.close()

        return asyncio.run(run())

    def deliver(self, prompt: str) -> Delivery:
        """Type *prompt*; the transcript and the hook acknowledge it."""
        before = self._acknowledged()
        return self.use(
            lambda typist: typist.submit(prompt, acknowledged=lambda: self._acknowledged() > before)
        )

    def _acknowledged(self) -> int:
        return min(len(self.exchanges()), len(list(self.spool.glob("UserPromptSubmit*"))))

    def exchanges(self) -> list[Exchange]:
        return list(TOOL.exchanges(self.home, self.where))

    def prompts(self) -> list[str]:
        """What the model was really asked, each prompt once."""
        return list(dict.fromkeys(record.prompt for record in self.api.main_records()))

    def until(self, *states: str) -> Surface:
        """Wait for one of *states*."""

        async def wait(typist: Typist) -> Surface:
            while (surface := await typist.surface()).state not in states:
                await asyncio.sleep(0.02)
            return surface

        return self.use(lambda typist: asyncio.wait_for(wait(typist), LIMIT_SECONDS))

    def wait(self, is_true: Callable[[], bool]) -> None:
        """Wait for a condition."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not is_true():
            assert time.monotonic() < deadline, "it never became true"
            time.sleep(0.02)

    def press(self, sequence: str) -> None:
        self.use(lambda typist: typist.press(keys.parse(sequence)))

    def stop(self) -> None:
        session.kill(self._tmux, "agent")


@pytest.fixture
def agent(
    agent_clis: Path,
    model_api: ModelApi,
    cli_home: Path,
    tmux_server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Agent]:
    """An agent that talks to the scripted model API."""
    monkeypatch.setenv("PATH", clis.search_path(agent_clis, os.environ["PATH"]))
    made = Agent(cli_home, tmux_server, model_api)
    yield made
    made.stop()


def test_a_prompt_is_answered_and_everything_says_so(agent: Agent) -> None:
    """Screen, transcript, hooks and the model agree; no dialog stood in the way."""
    agent.start()
    delivery = agent.deliver('hello [[mock {"text": "good day"}]]')
    agent.until("ready")

    assert delivery.outcome == "submitted"
    assert agent.prompts() == ['hello [[mock {"text": "good day"}]]']
    [exchange] = agent.exchanges()
    assert (exchange.prompt, exchange.answer, exchange.outcome) == (agent.prompts()[0], "good day", "success")
    reports = [report for _, report in spool.read(agent.spool)]
    assert [TOOL.meaning(report) for report in reports] == ["submitted", "ended"]


@pytest.mark.parametrize("columns", [120, 80])
def test_text_that_codex_would_take_for_something_else_arrives_as_text(agent: Agent, columns: int) -> None:
    """Nothing is run, swallowed, completed or changed, and nothing arrives twice."""
    (agent.where / "notes.txt").touch()
    agent.start(columns=columns, rows=24)
    outcomes = []
    for prompt in HOSTILE:
        outcomes.append(agent.deliver(prompt).outcome)
        agent.until("ready")

    assert outcomes == ["submitted"] * len(HOSTILE)
    assert [record.prompt_sha256 for record in agent.api.main_records()] == [
        hashlib.sha256(TOOL.guard(prompt).strip().encode()).hexdigest() for prompt in HOSTILE
    ]
    assert not (agent.where / "ran").exists()


def test_an_interrupt_ends_the_turn_and_an_idle_agent_is_left_alone(agent: Agent) -> None:
    """Escape goes to a working agent only: an idle one would begin to edit its last prompt."""
    agent.start()
    agent.deliver("mock:hold")
    agent.until("active")

    assert agent.use(lambda typist: typist.interrupt())
    agent.until("ready")
    assert [each.outcome for each in agent.exchanges()] == ["interrupted"]
    assert not agent.use(lambda typist: typist.interrupt())
    assert agent.deliver("mock:ok").outcome == "submitted"
    agent.until("ready")
    assert [each.outcome for each in agent.exchanges()] == ["interrupted", "success"]


def test_a_question_for_permission_blocks_and_is_reported(agent: Agent) -> None:
    """A prompt is refused meanwhile; the answer lets the turn go on."""
    agent.start()
    delivery = agent.deliver(f"[[mock {json.dumps(ESCALATION)}]] mock:ok")
    surface = agent.until("blocked")

    assert (delivery.outcome, surface.dialog) == ("submitted", "approval")
    assert agent.deliver("mock:ok").reason == "blocked:approval"
    asked = [report for _, report in spool.read(agent.spool) if TOOL.meaning(report) == "asking"]
    assert [report.payload["tool_input"]["command"] for report in asked] == ["touch asked"]
    agent.press("<[Enter]>")
    agent.until("ready")
    assert (agent.where / "asked").exists()


def test_the_reset_command_begins_a_new_conversation(agent: Agent) -> None:
    """Typed like a prompt; what follows is told apart from what was."""
    agent.start()
    agent.deliver("first mock:ok")
    agent.until("ready")
    agent.deliver(TOOL.reset_command)
    agent.until("ready")
    agent.deliver("second mock:ok")
    agent.until("ready")

    assert [each.prompt for each in agent.exchanges()] == ["second mock:ok"]


def test_a_persons_draft_is_not_overwritten(agent: Agent) -> None:
    """Nothing is typed where something stands."""
    agent.start()
    agent.press("half a thought")
    agent.until("draft")

    assert agent.deliver("mock:ok").reason == "draft"
    assert agent.use(lambda typist: typist.surface()).composer == "half a thought"


def test_after_its_end_a_restart_continues_the_conversation(agent: Agent) -> None:
    """The person leaves by `/quit`; the latest conversation is taken up in the same pane."""
    agent.start()
    agent.deliver("first mock:ok")
    agent.until("ready")
    agent.press("/quit")
    agent.until("draft")
    agent.press("<[Enter]>")
    agent.until("exited")
    agent.start(Chat(mode="latest"))
    agent.deliver("second mock:ok")
    agent.until("ready")

    assert [each.prompt for each in agent.exchanges()] == ["first mock:ok", "second mock:ok"]


@pytest.mark.parametrize("permissions", ["edits", "all"])
def test_nothing_is_left_when_the_session_is_gone(agent: Agent, permissions: Permissions) -> None:
    """The pane's process is codex itself, with no server or updater behind it; its commands end with it."""
    pane = agent.start(permissions=permissions)
    alone = processes.tree(pane.pid)
    agent.deliver("mock:sleep")
    agent.wait(lambda: "sleep" in _commands(pane.pid))
    working = processes.tree(pane.pid)

    assert [process.pid for process in alone] == [pane.pid]
    assert Path(f"/proc/{pane.pid}/exe").readlink().name == "codex"
    agent.stop()
    assert processes.wait_gone(working, seconds=LIMIT_SECONDS) == []
    assert leftovers.users_of(agent.home) == []


def _commands(pid: int) -> list[str]:
    """The names of what runs below *pid*."""
    return [Path(f"/proc/{each.pid}/comm").read_text().strip() for each in processes.tree(pid)]

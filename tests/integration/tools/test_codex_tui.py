"""The real Codex's TUI in a real tmux, typed into by the product."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from posthouse.support import processes
from posthouse.testing import clis, leftovers
from posthouse.testing.cli_rig import Place, Subject
from posthouse.testing.tui_rig import TuiAgent
from posthouse.tools.codex.profile import TOOL
from posthouse.tools.tool import Chat, Launch, Permissions

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


@pytest.fixture
def agent(place: Place) -> Iterator[TuiAgent]:
    """An agent that talks to the scripted model API, not started yet."""
    subject = Subject(
        tool=TOOL,
        launch=Launch(
            home=place.home, working_directory=place.where, role_name="r", model="gpt-5", permissions="edits"
        ),
        secrets={"OPENAI_API_KEY": clis.API_KEY},
        home_variables={"OPENAI_BASE_URL": f"{place.api.base_url}/v1"},
    )
    made = TuiAgent(place, subject)
    yield made
    made.stop()


def test_a_prompt_is_answered_and_everything_says_so(agent: TuiAgent) -> None:
    """Screen, transcript, hooks and the model agree; no dialog stood in the way."""
    agent.start()
    delivery = agent.deliver('hello [[mock {"text": "good day"}]]')
    agent.answered()

    assert delivery.outcome == "submitted"
    assert agent.prompts() == ['hello [[mock {"text": "good day"}]]']
    [exchange] = agent.exchanges()
    assert (exchange.prompt, exchange.answer, exchange.outcome) == (agent.prompts()[0], "good day", "success")
    assert exchange.usage == {
        "input_tokens": 10,
        "cached_input_tokens": 0,
        "output_tokens": 5,
        "reasoning_output_tokens": 0,
        "total_tokens": 15,
    }
    agent.wait(lambda: agent.meanings() == ["submitted", "ended"])


@pytest.mark.parametrize("columns", [120, 80])
def test_text_that_codex_would_take_for_something_else_arrives_as_text(agent: TuiAgent, columns: int) -> None:
    """Nothing is run, swallowed, completed or changed, and nothing arrives twice."""
    (agent.where / "notes.txt").touch()
    agent.start(columns=columns, rows=24)
    outcomes = []
    for prompt in HOSTILE:
        outcomes.append(agent.deliver(prompt).outcome)
        agent.answered()

    assert outcomes == ["submitted"] * len(HOSTILE)
    assert [record.prompt_sha256 for record in agent.api.main_records()] == [
        hashlib.sha256(TOOL.escape_prompt(prompt).strip().encode()).hexdigest() for prompt in HOSTILE
    ]
    assert not (agent.where / "ran").exists()


def test_an_interrupt_ends_the_turn_and_an_idle_agent_is_left_alone(agent: TuiAgent) -> None:
    """Escape goes to a working agent only: an idle one would begin to edit its last prompt."""
    agent.start()
    agent.deliver("mock:hold")
    agent.until("active")

    assert agent.interrupt()
    agent.until("ready")
    agent.wait(lambda: [each.outcome for each in agent.exchanges()] == ["interrupted"])
    assert not agent.interrupt()
    assert agent.deliver("mock:ok").outcome == "submitted"
    agent.answered()
    assert [each.outcome for each in agent.exchanges()] == ["interrupted", "success"]


def test_a_question_for_permission_blocks_and_is_reported(agent: TuiAgent) -> None:
    """A prompt is refused meanwhile; the answer lets the turn go on."""
    agent.start()
    delivery = agent.deliver(f"[[mock {json.dumps(ESCALATION)}]] mock:ok")
    agent.until_asked("approval")

    assert delivery.outcome == "submitted"
    assert agent.deliver("mock:ok").reason == "blocked:approval"
    agent.wait(lambda: "asking" in agent.meanings())
    asked = [report for report in agent.reports() if TOOL.turn_signal(report) == "asking"]
    assert [report.payload["tool_input"]["command"] for report in asked] == ["touch asked"]
    agent.accept("approval")
    agent.answered()
    assert (agent.where / "asked").exists()


def test_the_reset_command_begins_a_new_conversation(agent: TuiAgent) -> None:
    """Typed like a prompt; what follows is told apart from what was."""
    agent.start()
    agent.deliver("first mock:ok")
    agent.answered()
    agent.command(TOOL.reset_command)
    agent.until("ready")
    agent.deliver("second mock:ok")
    agent.answered()

    assert [each.prompt for each in agent.exchanges()] == ["second mock:ok"]


def test_a_persons_draft_is_not_overwritten(agent: TuiAgent) -> None:
    """Nothing is typed where something stands."""
    agent.start()
    agent.press("half a thought")
    agent.until("draft")

    assert agent.deliver("mock:ok").reason == "draft"
    assert agent.use(lambda writer: writer.surface()).composer == "half a thought"


def test_after_its_end_a_restart_continues_the_conversation(agent: TuiAgent) -> None:
    """The person leaves by `/quit`; the latest conversation is taken up in the same pane."""
    agent.start()
    agent.deliver("first mock:ok")
    agent.answered()
    agent.leave("/quit")
    agent.start(Chat(mode="latest"))
    agent.deliver("second mock:ok")
    agent.answered()

    assert [each.prompt for each in agent.exchanges()] == ["first mock:ok", "second mock:ok"]


@pytest.mark.parametrize("permissions", ["edits", "all"])
def test_nothing_is_left_when_the_session_is_gone(agent: TuiAgent, permissions: Permissions) -> None:
    """The pane's process is codex itself, alone; what its commands leave ends by the tree that was noted."""
    pane = agent.start(permissions=permissions)
    alone = processes.tree(pane.pid)
    agent.deliver("mock:sleep")
    agent.wait(lambda: "sleep" in _commands(pane.pid))
    working = processes.tree(pane.pid)

    assert [process.pid for process in alone] == [pane.pid]
    assert Path(f"/proc/{pane.pid}/exe").readlink().name == "codex"
    agent.stop()
    assert processes.end(working) == []
    agent.wait(lambda: leftovers.users_of(agent.home) == [])


def _commands(pid: int) -> list[str]:
    """The names of what runs below *pid*."""
    lines = [leftovers.command_line(each) for each in processes.tree(pid)]
    return [Path(line.split("\0")[0]).name for line in lines]

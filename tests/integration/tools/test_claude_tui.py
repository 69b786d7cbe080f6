"""The real Claude Code's TUI in a real tmux, typed into by the product."""

import hashlib
from collections.abc import Iterator

import pytest

from posthouse.support import processes
from posthouse.testing import clis, leftovers
from posthouse.testing.cli_rig import Place, Subject
from posthouse.testing.tui_rig import TuiAgent
from posthouse.tools.claude.profile import TOOL
from posthouse.tools.tool import Chat, Launch

HOSTILE = [
    "!touch ran",
    "  !touch ran",
    "/nope now",
    "  /nope now",
    "look at @notes",
    "exit",
    " quit ",
    "two\n\n\tlines \\",
    "ünï e\u0301 日本語",
    "1. first\n❯ 2. second\nEsc to cancel",
    "?",
    "#remember",
    "words " * 4000,
]


@pytest.fixture
def agent(place: Place) -> Iterator[TuiAgent]:
    """An agent that talks to the scripted model API, not started yet."""
    subject = Subject(
        tool=TOOL,
        launch=Launch(home=place.home, working_directory=place.where, role_name="r"),
        secrets={"ANTHROPIC_BASE_URL": place.api.base_url, "ANTHROPIC_API_KEY": clis.API_KEY},
        # A person may have turned titles off; the home turns them on.
        environment={"CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1"},
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
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 5,
    }
    agent.wait(lambda: agent.meanings() == ["submitted", "ended"])
    assert TOOL.submitted_prompt(agent.reports()[0]) == exchange.prompt


@pytest.mark.parametrize("columns", [120, 80])
def test_text_that_claude_would_take_for_something_else_arrives_as_text(
    agent: TuiAgent, columns: int
) -> None:
    """Nothing is run, swallowed, completed or taken for the end, and nothing arrives twice."""
    (agent.where / "notes.txt").touch()
    agent.start(columns=columns, rows=24)
    outcomes = []
    for prompt in HOSTILE:
        outcomes.append(agent.deliver(prompt).outcome)
        agent.answered()

    assert outcomes == ["submitted"] * len(HOSTILE)
    wanted = [TOOL.escape_prompt(prompt).rstrip() for prompt in HOSTILE]
    assert [record.prompt_sha256 for record in agent.api.main_records()] == [
        hashlib.sha256(prompt.encode()).hexdigest() for prompt in wanted
    ]
    assert [exchange.prompt for exchange in agent.exchanges()] == wanted
    assert not (agent.where / "ran").exists()


def test_an_interrupt_ends_a_turn_that_has_spoken_and_leaves_an_idle_agent_alone(agent: TuiAgent) -> None:
    """Escape goes to a working agent only: two of them would take an idle one back in time."""
    agent.start()
    agent.deliver("mock:slow")
    agent.wait(lambda: "w0000" in "".join(agent.use(lambda writer: writer.screen()).rows))

    assert agent.interrupt()
    agent.until("ready")
    agent.wait(lambda: [each.outcome for each in agent.exchanges()] == ["interrupted"])
    assert not agent.interrupt()
    assert agent.deliver("mock:ok").outcome == "submitted"
    agent.answered()
    assert [each.outcome for each in agent.exchanges()] == ["interrupted", "success"]


def test_an_interrupt_before_any_answer_gives_the_prompt_back(agent: TuiAgent) -> None:
    """It stands in the composer again, and nothing is typed over it."""
    agent.start()
    agent.deliver("mock:stall")
    assert agent.until("active").composer == ""

    assert agent.interrupt()
    assert agent.until("draft").composer == "mock:stall"
    assert agent.deliver("mock:ok").reason == "draft"


def test_a_question_for_permission_blocks_and_is_reported(agent: TuiAgent) -> None:
    """Our hook hears of it and decides nothing; a prompt is refused meanwhile; the answer counts."""
    agent.start()
    delivery = agent.deliver('[[mock {"shell": "env > ran"}]] mock:ok')
    agent.until_asked("permission")

    assert delivery.outcome == "submitted"
    assert agent.deliver("mock:ok").reason == "blocked:permission"
    assert not agent.interrupt()
    agent.wait(lambda: "asking" in agent.meanings())
    asked = [report for report in agent.reports() if TOOL.turn_signal(report) == "asking"]
    assert [report.payload["tool_input"]["command"] for report in asked] == ["env > ran"]
    assert not (agent.where / "ran").exists()
    agent.accept("permission")
    agent.answered()
    assert (agent.where / "ran").exists()


def test_a_busy_agent_keeps_a_prompt_for_later(agent: TuiAgent) -> None:
    """It is taken once, after the turn."""
    agent.start()
    agent.deliver("first mock:hold")
    agent.until("active")
    delivery = agent.use(
        lambda writer: writer.submit("second mock:ok", acknowledged=lambda: False, while_busy=True)
    )
    agent.api.release()
    agent.wait(lambda: [each.outcome for each in agent.exchanges()] == ["success", "success"])

    assert delivery.outcome == "submitted"
    assert [each.prompt for each in agent.exchanges()] == ["first mock:hold", "second mock:ok"]
    assert agent.prompts() == ["first mock:hold", "second mock:ok"]


def test_the_reset_command_begins_a_new_conversation(agent: TuiAgent) -> None:
    """Typed like a prompt; what follows is told apart from what was."""
    agent.start()
    agent.deliver("first mock:ok")
    agent.answered()
    agent.command(TOOL.reset_command)
    agent.wait(lambda: agent.exchanges() == [])
    agent.until("ready")
    agent.deliver("second mock:ok")
    agent.answered()

    assert [each.prompt for each in agent.exchanges()] == ["second mock:ok"]


def test_after_its_end_a_restart_continues_the_conversation(agent: TuiAgent) -> None:
    """The person leaves by `/exit`; the latest conversation is taken up in the same pane."""
    agent.start()
    agent.deliver("first mock:ok")
    agent.answered()
    agent.leave("/exit")
    agent.start(Chat(mode="latest"))
    agent.deliver("second mock:ok")
    agent.answered()

    assert [each.prompt for each in agent.exchanges()] == ["first mock:ok", "second mock:ok"]


def test_nothing_is_left_when_the_session_is_gone(agent: TuiAgent) -> None:
    """The pane's process is claude itself. A command of its outlives it, unless the tree was noted before."""
    pane = agent.start(permissions="all")
    agent.deliver("mock:sleep")
    agent.wait(lambda: "sleep" in _commands(pane.pid))
    working = processes.tree(pane.pid)

    assert _commands(pane.pid)[0] == "claude"
    agent.stop()
    assert processes.end(working) == []
    agent.wait(lambda: leftovers.users_of(agent.home) == [])


def _commands(pid: int) -> list[str]:
    """The names of what runs below *pid*, itself first."""
    return [leftovers.name(process) for process in processes.tree(pid)]

"""The real Claude Code, one headless turn after the other in a real tmux, by the product's own layers."""

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from posthouse.testing import clis, leftovers
from posthouse.testing.cli_rig import Place, Subject
from posthouse.testing.headless_rig import HeadlessAgent, programs_of, running
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.tools.claude.profile import TOOL
from posthouse.tools.tool import Chat, Launch, Permissions
from posthouse.turns.turn import Turn

UNKNOWN_CHAT = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def agent(place: Place) -> Iterator[HeadlessAgent]:
    """A headless agent that talks to the scripted model API."""
    subject = Subject(
        tool=TOOL,
        launch=Launch(home=place.home, working_directory=place.where, role_name="r"),
        secrets={"ANTHROPIC_BASE_URL": place.api.base_url, "ANTHROPIC_API_KEY": clis.API_KEY},
    )
    with running(place, subject) as made:
        yield made


def test_a_conversation_is_begun_resumed_by_id_and_resumed_as_the_latest(agent: HeadlessAgent) -> None:
    """The id stays, and the latest is the one that was written to last."""
    first = agent.run("one mock:ok")
    assert first.session_id is not None
    other = agent.run("other mock:ok")
    by_id = agent.run("two mock:ok", Chat(mode="exact", id=first.session_id))
    latest = agent.run("three mock:ok", Chat(mode="latest"))

    assert [(turn.status, turn.answer, turn.returncode) for turn in (first, other, by_id, latest)] == [
        ("completed", "OK", 0)
    ] * 4
    assert by_id.session_id == latest.session_id == first.session_id != other.session_id
    told = [(each.prompt.strip(), each.answer, each.outcome) for each in agent.exchanges()]
    assert told == [(f"{word} mock:ok", "OK", "success") for word in ("one", "two", "three")]


def test_the_latest_of_none_is_a_new_conversation(agent: HeadlessAgent) -> None:
    """An agent's first turn may ask for the latest."""
    state = agent.run("mock:ok", Chat(mode="latest"))

    assert (state.status, state.answer, state.session_id is None) == ("completed", "OK", False)


def test_model_reasoning_role_and_prompt_reach_the_api_at_every_turn(agent: HeadlessAgent) -> None:
    """A conversation that goes on keeps none of them by itself."""
    prompt, role = "ünï\n\t'\"\\$(x) mock:ok", 'Be "kind".\nAlways. ' * 2000
    first = agent.run(prompt, model="claude-opus-4-6", level=9, role=role)
    chat = Chat(mode="exact", id=first.session_id)
    again = agent.run(prompt, chat, model="claude-opus-4-8", level=1, role=role)
    plain = agent.run(prompt, chat, model="claude-opus-4-8")

    assert [state.status for state in (first, again, plain)] == ["completed"] * 3
    asked = agent.api.main_records()
    assert [record.prompt for record in asked] == [prompt] * 3
    assert [record.model for record in asked] == ["claude-opus-4-6", "claude-opus-4-8", "claude-opus-4-8"]
    efforts = [record.effort["output_config"]["effort"] for record in asked]
    assert efforts == ["max", "low", "high"]
    assert all(record.bytes > asked[-1].bytes + len(role) / 2 for record in asked[:-1])


@pytest.mark.parametrize(("permissions", "result"), [("ask", "error"), ("all", "success")])
def test_a_tool_runs_where_the_permissions_allow_it(
    agent: HeadlessAgent, permissions: Permissions, result: str
) -> None:
    """What is denied is denied for want of a person: our hooks decide nothing."""
    turn = agent.start("mock:shell mock:ok", permissions=permissions)
    state = turn.wait(LIMIT_SECONDS)

    request, told = [event for event in turn.events() if event.kind in ("action_request", "action_result")]
    assert (state.status, state.answer) == ("completed", "OK")
    assert (request.kind, told.provider_event_type) == ("action_request", "user.tool_result")
    assert told.data is not None
    assert (told.data["status"], "hook" in told.data["result_summary"]) == (result, False)
    assert (agent.where / "mock-made-this.txt").exists() == (permissions == "all")
    assert agent.meanings() == ["submitted", "ended"]


def test_edits_are_made_without_asking_where_they_are_allowed(agent: HeadlessAgent) -> None:
    """Files yes, other commands no."""
    path = agent.where / "new.txt"
    write = f'[[mock {{"tool": "Write", "args": {{"file_path": "{path}", "content": "x"}}}}]]'
    state = agent.run(f'{write} [[mock {{"shell": "env > ran"}}]] mock:ok', permissions="edits")

    assert (state.status, path.read_text()) == ("completed", "x")
    assert not (agent.where / "ran").exists()


def test_hooks_report_what_was_asked_and_how_it_ended(agent: HeadlessAgent) -> None:
    """A failure of the API has a report of its own."""
    agent.run("mock:ok")
    agent.run("mock:400")

    reports = agent.reports()
    assert [TOOL.turn_signal(report) for report in reports] == ["submitted", "ended", "submitted", "failed"]
    assert TOOL.submitted_prompt(reports[0]) == "mock:ok"


@pytest.mark.parametrize(
    ("scenario", "words"), [("400", "scripted bad request"), ("toolong", "Prompt is too long")]
)
def test_a_failure_of_the_api_fails_the_turn(agent: HeadlessAgent, scenario: str, words: str) -> None:
    """With the provider's words, and the id of a conversation that can go on."""
    state = agent.run(f"mock:{scenario}")

    assert (state.status, state.returncode, state.session_id is None) == ("failed", 1, False)
    assert words in (state.error or "")
    assert agent.exchanges()[-1].outcome == "error"


@pytest.mark.parametrize(
    ("scenario", "answer", "calls"),
    [
        ("529x2", "recovered after overload", ["error 529", "error 529", "completed"]),
        ("drop", "w0000", ["dropped", "completed"]),
    ],
)
def test_what_comes_right_in_the_end_is_no_failure(
    agent: HeadlessAgent, scenario: str, answer: str, calls: list[str]
) -> None:
    """An overloaded API is asked again, and so is one whose stream broke."""
    state = agent.run(f"mock:{scenario}")

    assert (state.status, state.returncode) == ("completed", 0)
    assert (state.answer or "").startswith(answer)
    assert [record.outcome for record in agent.api.main_records()] == calls


def test_resuming_an_unknown_conversation_fails_with_claudes_words(agent: HeadlessAgent) -> None:
    """Nothing is asked of the model, and the id is the one that was asked for."""
    state = agent.run("mock:ok", Chat(mode="exact", id=UNKNOWN_CHAT))

    assert (state.status, state.returncode, state.session_id) == ("failed", 1, UNKNOWN_CHAT)
    assert state.error == f"No conversation found with session ID: {UNKNOWN_CHAT}"
    assert agent.api.main_records() == []


def test_an_interrupted_turn_is_one_and_its_conversation_goes_on(agent: HeadlessAgent) -> None:
    """Claude ends with exit code 0; its terminal event says why."""
    turn = _at_work(agent)

    assert turn.interrupt()
    state = turn.wait(LIMIT_SECONDS)
    assert (state.status, state.returncode) == ("interrupted", 0)
    assert state.error == "stopped on request (interrupt)"
    again = agent.run("mock:ok", Chat(mode="exact", id=state.session_id))
    assert (again.status, again.session_id) == ("completed", state.session_id)
    assert [each.outcome for each in agent.exchanges()] == ["interrupted", "success"]


@pytest.mark.parametrize(
    ("number", "returncode", "ending"),
    [(signal.SIGTERM, 143, "exit code 143"), (signal.SIGKILL, -9, "killed by SIGKILL")],
)
def test_a_turn_that_somebody_else_ends_has_crashed(
    agent: HeadlessAgent, number: signal.Signals, returncode: int, ending: str
) -> None:
    """Its conversation is known all the same, and goes on."""
    turn = _at_work(agent)
    os.kill(programs_of(turn)[0].pid, number)

    state = turn.wait(LIMIT_SECONDS)
    assert (state.status, state.returncode) == ("failed", returncode)
    assert (state.error or "").startswith(f"crashed: ended without a result ({ending})")
    again = agent.run("mock:ok", Chat(mode="exact", id=state.session_id))
    assert (again.status, again.session_id) == ("completed", state.session_id)
    assert [each.outcome for each in agent.exchanges()] == ["interrupted", "success"]


@pytest.mark.parametrize("end", [Turn.interrupt, Turn.kill])
def test_a_command_ends_with_its_turn(agent: HeadlessAgent, end: Callable[[Turn], object]) -> None:
    """Nothing that the agent started outlives it."""
    turn = agent.start("mock:sleep", permissions="all")
    agent.wait(lambda: "sleep" in _commands(agent))
    end(turn)

    assert turn.wait(LIMIT_SECONDS).status == "interrupted"
    agent.wait(lambda: not {"sleep", "claude"} & _commands(agent))


def _at_work(agent: HeadlessAgent) -> Turn:
    """A turn that has been asked, is on record, and does not end by itself."""
    turn = agent.at_work()
    agent.wait(lambda: len(agent.exchanges()) == 1)
    return turn


def _commands(agent: HeadlessAgent) -> set[str]:
    """The names of what runs in the agent's folder."""
    return {leftovers.name(process) for process in leftovers.users_of(agent.where)}

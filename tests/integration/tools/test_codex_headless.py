"""The real Codex, one headless turn after the other in a real tmux, by the product's own layers."""

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from posthouse.testing import clis, leftovers
from posthouse.testing.cli_rig import Place, Subject
from posthouse.testing.headless_rig import HeadlessAgent, programs_of, running
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.tools.codex.profile import TOOL
from posthouse.tools.tool import Chat, Launch, Permissions
from posthouse.turns.turn import Turn

MODEL = "gpt-5"
#: A broken stream is tried again five times by default, over half a minute.
FEW_RETRIES = ("--config=model_providers.posthouse.stream_max_retries=1",)
UNKNOWN_CHAT = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def agent(place: Place) -> Iterator[HeadlessAgent]:
    """A headless agent that talks to the scripted model API."""
    subject = Subject(
        tool=TOOL,
        launch=Launch(
            home=place.home,
            working_directory=place.where,
            role_name="r",
            args=FEW_RETRIES,
            permissions="edits",
        ),
        secrets={"OPENAI_API_KEY": clis.API_KEY},
        home_variables={"OPENAI_BASE_URL": f"{place.api.base_url}/v1"},
        turn_model=MODEL,
    )
    with running(place, subject) as made:
        yield made


def test_a_conversation_is_begun_resumed_by_id_and_resumed_as_the_latest(agent: HeadlessAgent) -> None:
    """The id stays, the model remembers, and the usage is the conversation's."""
    first = agent.run("mock:ok")
    assert first.session_id is not None
    by_id = agent.run("mock:ok", Chat(mode="exact", id=first.session_id))
    latest = agent.run("mock:ok", Chat(mode="latest"))
    other = agent.run("mock:ok")

    assert [(turn.status, turn.answer, turn.returncode) for turn in (first, by_id, latest, other)] == [
        ("completed", "OK", 0)
    ] * 4
    assert by_id.session_id == latest.session_id == first.session_id != other.session_id
    assert [turn.usage and turn.usage["output_tokens"] for turn in (first, by_id, latest)] == [5, 10, 15]
    exchanges = agent.exchanges()
    assert [(each.prompt, each.answer, each.outcome) for each in exchanges] == [("mock:ok", "OK", "success")]


def test_the_latest_of_none_is_a_new_conversation(agent: HeadlessAgent) -> None:
    """An agent's first turn may ask for the latest."""
    state = agent.run("mock:ok", Chat(mode="latest"))

    assert (state.status, state.answer, state.session_id is None) == ("completed", "OK", False)


def test_model_reasoning_and_role_reach_the_api(agent: HeadlessAgent) -> None:
    """They are asked for with every turn, and a prompt arrives exactly."""
    prompt = "ünï\n\t'\"\\$(x) mock:ok"
    state = agent.run(prompt, model="gpt-5.1", level=9, role='Be "kind".\nAlways.')

    [asked] = agent.api.main_records()
    assert (state.status, asked.prompt, asked.model) == ("completed", prompt, "gpt-5.1")
    assert isinstance(asked.effort, dict)
    assert asked.effort["effort"] == "xhigh"
    rollout = next(agent.home.glob("sessions/*/*/*/*.jsonl")).read_text()
    assert r"Be \"kind\".\nAlways." in rollout


@pytest.mark.parametrize("permissions", ["edits", "all"])
def test_a_command_runs_where_the_permissions_allow_it(
    agent: HeadlessAgent, permissions: Permissions
) -> None:
    """The request and its result are told."""
    turn = agent.start("mock:shell mock:ok", permissions=permissions)
    state = turn.wait(LIMIT_SECONDS)

    actions = [event for event in turn.events() if event.kind in ("action_request", "action_result")]
    assert (state.status, state.answer) == ("completed", "OK")
    assert [event.kind for event in actions] == ["action_request", "action_result"]
    assert actions[1].data is not None
    told = [actions[1].data[key] for key in ("action_kind", "status", "exit_code", "result_summary")]
    assert told == ["command_execution", "completed", 0, "made"]
    assert (agent.where / "mock-made-this.txt").exists()


def test_nothing_is_written_by_an_agent_that_should_ask(agent: HeadlessAgent) -> None:
    """There is nobody to ask: the command fails, and the turn goes on."""
    state = agent.run("mock:shell mock:ok", permissions="ask")

    assert (state.status, state.answer) == ("completed", "OK")
    assert not (agent.where / "mock-made-this.txt").exists()


def test_hooks_report_without_having_been_reviewed(agent: HeadlessAgent) -> None:
    """Their trust was seeded, so that `exec` runs them."""
    agent.run("mock:ok")

    reports = agent.reports()
    assert [TOOL.turn_signal(report) for report in reports] == ["submitted", "ended"]
    assert TOOL.submitted_prompt(reports[0]) == "mock:ok"


@pytest.mark.parametrize(
    ("scenario", "words"),
    [("400", "scripted bad request"), ("toolong", "context_length_exceeded"), ("drop", "stream")],
)
def test_a_failure_of_the_api_fails_the_turn(agent: HeadlessAgent, scenario: str, words: str) -> None:
    """With the provider's words, and the id of a conversation that can go on."""
    state = agent.run(f"mock:{scenario}")

    assert (state.status, state.returncode, state.session_id is None) == ("failed", 1, False)
    assert state.error is not None
    assert words in state.error
    assert agent.exchanges()[-1].outcome == "error"


def test_an_overloaded_api_is_asked_again(agent: HeadlessAgent) -> None:
    """What comes right in the end is no failure."""
    state = agent.run("mock:529x2")

    assert (state.status, state.answer) == ("completed", "recovered after overload")


def test_resuming_an_unknown_conversation_fails_with_codexs_words(agent: HeadlessAgent) -> None:
    """Nothing is asked of the model."""
    state = agent.run("mock:ok", Chat(mode="exact", id=UNKNOWN_CHAT))

    assert (state.status, state.returncode, state.session_id) == ("failed", 1, None)
    assert f"no rollout found for thread id {UNKNOWN_CHAT}" in (state.error or "")
    assert agent.api.main_records() == []


def test_an_interrupted_turn_is_one_and_its_conversation_goes_on(agent: HeadlessAgent) -> None:
    """Codex leaves no terminal event and an exit code of 1; we know that we signalled."""
    turn = _at_work(agent)

    assert turn.interrupt()
    state = turn.wait(LIMIT_SECONDS)
    assert (state.status, state.error) == ("interrupted", "stopped on request (interrupt)")
    assert state.session_id is not None
    assert agent.exchanges()[-1].outcome == "interrupted"
    again = agent.run("mock:ok", Chat(mode="exact", id=state.session_id))
    assert (again.status, again.session_id) == ("completed", state.session_id)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_turn_that_somebody_else_ends_has_crashed(agent: HeadlessAgent, number: signal.Signals) -> None:
    """Its conversation is known all the same, and goes on."""
    turn = _at_work(agent)
    codex, *_ = programs_of(turn)
    os.kill(codex.pid, number)

    state = turn.wait(LIMIT_SECONDS)
    assert (state.status, state.returncode) == ("failed", -number)
    assert f"crashed: ended without a result (killed by {number.name})" in (state.error or "")
    assert state.session_id is not None
    again = agent.run("mock:ok", Chat(mode="exact", id=state.session_id))
    assert (again.status, again.session_id) == ("completed", state.session_id)
    outcomes = [each.outcome for each in agent.exchanges()]
    assert outcomes == ["interrupted", "success"]


@pytest.mark.parametrize("permissions", ["edits", "all"])
@pytest.mark.parametrize("end", [Turn.interrupt, Turn.kill])
def test_a_command_ends_with_its_turn(
    agent: HeadlessAgent, permissions: Permissions, end: Callable[[Turn], object]
) -> None:
    """In codex's sandbox and without it."""
    turn = agent.start("mock:sleep", permissions=permissions)
    agent.wait(lambda: _sleeps(agent))
    end(turn)

    state = turn.wait(LIMIT_SECONDS)
    agent.wait(lambda: not _sleeps(agent))
    assert state.status == "interrupted"


def test_no_process_outlives_a_turn(agent: HeadlessAgent) -> None:
    """Codex leaves neither a server nor an updater."""
    turn = agent.start("mock:ok")
    state = turn.wait(LIMIT_SECONDS)

    codex = [each for each in leftovers.users_of(agent.home) if "codex" in leftovers.command_line(each)]
    assert (state.status, codex) == ("completed", [])


def _at_work(agent: HeadlessAgent) -> Turn:
    """A turn that has been asked, is on record, and does not end by itself."""
    turn = agent.at_work()
    agent.wait(lambda: len(agent.exchanges()) == 1)
    return turn


def _sleeps(agent: HeadlessAgent) -> bool:
    """Whether the command that the agent was told to run does."""
    programs = leftovers.users_of(agent.where)
    return any("sleep\x00600" in leftovers.command_line(each) for each in programs)

"""The real Gemini CLI, one headless turn after the other in a real tmux, by the product's own layers."""

import os
import signal
from collections.abc import Iterator

import pytest

from posthouse.testing import clis, leftovers
from posthouse.testing.cli_rig import Place, Subject
from posthouse.testing.headless_rig import HeadlessAgent, programs_of, running
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.tools.gemini.profile import TOOL
from posthouse.tools.tool import Chat, Launch, Permissions
from posthouse.turns.turn import Turn

MODEL = "gemini-2.5-flash"
UNKNOWN_CHAT = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def agent(place: Place) -> Iterator[HeadlessAgent]:
    """A headless agent that talks to the scripted model API."""
    subject = Subject(
        tool=TOOL,
        launch=Launch(home=place.home, working_directory=place.where, role_name="scribe", permissions="all"),
        secrets={"GEMINI_API_KEY": clis.API_KEY, "GOOGLE_GEMINI_BASE_URL": place.api.base_url},
        # It leaves reports of errors there, with the whole conversation.
        environment={"TMPDIR": str(place.home)},
        turn_model=MODEL,
    )
    with running(place, subject) as made:
        yield made


def test_a_conversation_is_begun_resumed_by_id_and_resumed_as_the_latest(agent: HeadlessAgent) -> None:
    """The id stays, the model remembers, the role is told once, and hooks report each turn."""
    first = agent.run("mock:ok", role="Write everything down.")
    assert first.session_id is not None
    by_id = agent.run(
        "second mock:ok", Chat(mode="exact", id=first.session_id), role="Write everything down."
    )
    latest = agent.run("third mock:ok", Chat(mode="latest"), role="Write everything down.")

    turns = (first, by_id, latest)
    assert [(turn.status, turn.answer, turn.returncode) for turn in turns] == [("completed", "OK", 0)] * 3
    assert by_id.session_id == latest.session_id == first.session_id
    assert [turn.usage and turn.usage["output_tokens"] for turn in turns] == [5, 5, 5]
    prompts = [
        "[Your role: scribe]\nWrite everything down.\n[End of your role]\n\nmock:ok",
        "second mock:ok",
        "third mock:ok",
    ]
    assert [asked.prompt for asked in agent.api.main_records()] == prompts
    assert [asked.turns for asked in agent.api.main_records()] == [2, 3, 4]
    exchanges = agent.exchanges()
    assert [(each.prompt, each.answer, each.outcome) for each in exchanges] == [
        (prompt, "OK", "success") for prompt in prompts
    ]
    reports = agent.reports()
    assert [TOOL.turn_signal(report) for report in reports] == ["submitted", "ended"] * 3
    assert [TOOL.submitted_prompt(report) for report in reports[::2]] == prompts


def test_the_latest_of_none_is_a_new_conversation(agent: HeadlessAgent) -> None:
    """An agent's first turn may ask for the latest."""
    state = agent.run("mock:ok", Chat(mode="latest"))

    assert (state.status, state.answer, state.session_id is None) == ("completed", "OK", False)


def test_model_and_reasoning_reach_the_api_and_no_file_changes(agent: HeadlessAgent) -> None:
    """Each turn has its own, the CLI's replacement for a withdrawn model and its own choice included."""
    settings = (agent.home / ".gemini" / "settings.json").read_bytes()
    prompt = "ünï\n\t'\"\\$(x) mock:ok"
    agent.run(prompt, model="gemini-2.5-pro", level=1)
    agent.run("mock:ok", model="gemini-3-pro-preview", level=2)
    agent.run("mock:ok", model="gemini-2.5-flash", level=0)
    agent.run("mock:ok", model=None, level=9)
    agent.run("mock:ok", model="gemini-2.5-flash")

    asked = agent.api.main_records()
    assert [(each.model, each.effort) for each in asked] == [
        ("gemini-2.5-pro", {"includeThoughts": True, "thinkingBudget": 512}),
        ("gemini-3.1-pro-preview", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-2.5-flash", {"includeThoughts": True, "thinkingBudget": 0}),
        ("gemini-3.8-flash", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("gemini-2.5-flash", {"includeThoughts": True, "thinkingBudget": 8192}),
    ]
    assert asked[0].prompt == prompt
    assert (agent.home / ".gemini" / "settings.json").read_bytes() == settings


def test_a_command_runs_where_everything_is_allowed(agent: HeadlessAgent) -> None:
    """The request and its result are told."""
    turn = agent.start("mock:shell mock:ok")
    state = turn.wait(LIMIT_SECONDS)

    actions = [event for event in turn.events() if event.kind in ("action_request", "action_result")]
    assert (state.status, state.answer) == ("completed", "OK")
    assert [event.kind for event in actions] == ["action_request", "action_result"]
    request, result = (event.data or {} for event in actions)
    assert (request["name"], request["arguments_summary"]) == (
        "run_shell_command",
        "touch mock-made-this.txt && echo made",
    )
    assert (result["action_id"], result["status"], result["result_summary"]) == (
        request["action_id"],
        "success",
        "made",
    )
    assert (agent.where / "mock-made-this.txt").exists()


@pytest.mark.parametrize(
    ("permissions", "offered"),
    [("ask", set()), ("edits", {"write_file"}), ("all", {"write_file", "run_shell_command"})],
)
def test_what_is_not_allowed_is_not_even_offered(
    agent: HeadlessAgent, permissions: Permissions, offered: set[str]
) -> None:
    """There is nobody to ask, and `check` warns of it."""
    agent.run("mock:ok", permissions=permissions)

    [asked] = agent.api.main_records()
    assert {"write_file", "run_shell_command"} & set(asked.tools) == offered


@pytest.mark.parametrize(
    ("scenario", "words", "returncode"),
    [
        ("400", "scripted bad request", 144),
        ("401", "scripted invalid api key", 145),
        ("toolong", "too long", 144),
        ("drop", "terminated", 1),
    ],
)
def test_a_failure_of_the_api_fails_the_turn(
    agent: HeadlessAgent, scenario: str, words: str, returncode: int
) -> None:
    """With the provider's words; the exit code is the HTTP status modulo 256, where there is one."""
    state = agent.run(f"mock:{scenario}")

    assert (state.status, state.returncode, state.session_id is None) == ("failed", returncode, False)
    assert words in (state.error or "")


def test_an_overloaded_api_is_asked_again(agent: HeadlessAgent) -> None:
    """What comes right in the end is no failure."""
    state = agent.run('[[mock {"status": 503, "times": 1, "text": "recovered"}]]')

    assert (state.status, state.answer) == ("completed", "recovered")
    assert len(agent.api.main_records()) == 2


def test_resuming_an_unknown_conversation_fails_with_geminis_words(agent: HeadlessAgent) -> None:
    """Nothing is asked of the model."""
    state = agent.run("mock:ok", Chat(mode="exact", id=UNKNOWN_CHAT))

    assert (state.status, state.returncode, state.session_id) == ("failed", 42, None)
    assert "Error resuming session" in (state.error or "")
    assert agent.api.main_records() == []


def test_an_interrupted_turn_is_one_and_its_conversation_goes_on(agent: HeadlessAgent) -> None:
    """Gemini exits with 0 and no result; we know that we signalled."""
    first = agent.run("mock:ok")
    assert first.session_id is not None
    turn = agent.at_work("mock:hold", Chat(mode="exact", id=first.session_id))

    assert turn.interrupt()
    state = turn.wait(LIMIT_SECONDS)
    assert (state.status, state.error) == ("interrupted", "stopped on request (interrupt)")
    assert state.session_id == first.session_id
    again = agent.run("mock:ok", Chat(mode="exact", id=first.session_id))
    assert (again.status, again.session_id) == ("completed", first.session_id)
    outcomes = [each.outcome for each in agent.exchanges()]
    assert outcomes == ["success", "interrupted", "success"]


def test_an_interrupted_turn_leaves_no_command_running(agent: HeadlessAgent) -> None:
    """Gemini detaches the commands it runs, and leaves them behind."""
    turn = agent.at_work("mock:sleep")
    _wait_for_command(turn, "sleep")

    assert turn.interrupt()
    state = turn.wait(LIMIT_SECONDS)
    assert (state.status, turn.end_leftovers()) == ("interrupted", [])
    agent.wait(lambda: leftovers.users_of(agent.home) == [])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -9)])
def test_a_turn_that_somebody_else_ends_has_crashed(
    agent: HeadlessAgent, number: signal.Signals, code: int
) -> None:
    """Its conversation is known all the same."""
    turn = agent.at_work()
    gemini, *_ = programs_of(turn)
    os.kill(gemini.pid, number)

    state = turn.wait(LIMIT_SECONDS)
    assert (state.status, state.returncode) == ("failed", code)
    assert "crashed: ended without a result" in (state.error or "")
    assert state.session_id is not None


def _wait_for_command(turn: Turn, name: str) -> None:
    while not any(name in leftovers.command_line(each) for each in programs_of(turn)):
        assert not turn.wait(0.05).is_final

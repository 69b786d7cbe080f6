"""The real Claude Code, one headless turn after the other in a real tmux, by the product's own layers."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from posthouse.support import processes
from posthouse.terminal import session
from posthouse.terminal.client import Server, Tmux
from posthouse.testing import clis, leftovers
from posthouse.testing.model_api import ModelApi
from posthouse.tools import spool
from posthouse.tools.claude.profile import TOOL
from posthouse.tools.tool import Chat, Exchange, Launch, Permissions, Setup, TurnOrder
from posthouse.turns import runner
from posthouse.turns.folder import Run
from posthouse.turns.order import Order
from posthouse.turns.state import TurnState
from posthouse.turns.turn import Turn

LIMIT_SECONDS = 40
NEW = Chat()
UNKNOWN_CHAT = "00000000-0000-4000-8000-000000000000"


class Agent:
    """One headless agent: its home, its pane and its turns."""

    def __init__(self, folder: Path, tmux: Tmux, api: ModelApi) -> None:
        self.api = api
        self.home, self.where, self.spool = folder / "home", folder / "proj", folder / "hooks"
        self.where.mkdir()
        self.spool.mkdir()
        self._turns = folder / "turns"
        self._tmux = tmux
        self._variables = {
            "ANTHROPIC_BASE_URL": api.base_url,
            "ANTHROPIC_API_KEY": clis.API_KEY,
            "HOME": str(folder),
            **clis.NO_NETWORK,
        }
        session.create(tmux, "agent", working_directory=self.where, environment={})
        TOOL.prepare_home(
            Setup(
                home=self.home,
                working_directory=self.where,
                user_home=folder,
                login="env",
                is_headless=True,
                spool=self.spool,
                variables=self._variables,
            )
        )

    def start(
        self,
        prompt: str,
        chat: Chat = NEW,
        *,
        model: str | None = None,
        level: int | None = None,
        permissions: Permissions = "ask",
        role: str = "",
    ) -> Turn:
        launch = Launch(
            home=self.home,
            working_directory=self.where,
            role_name="r",
            role_text=role,
            permissions=permissions,
        )
        order = TurnOrder(prompt=prompt, chat=chat, model=model, reasoning_level=level)
        program = TOOL.turn_program(launch, order)
        return runner.start(
            self._tmux,
            "agent",
            self._turns,
            Order(
                turn_id=runner.new_turn_id(),
                turn_index=len(runner.turns_of(self._turns)) + 1,
                tool="claude",
                argv=program.argv,
                environment=program.environment,
                stdin=program.stdin,
                working_directory=str(self.where),
            ),
            secrets=self._variables,
        )

    def run(self, prompt: str, chat: Chat = NEW, **options: object) -> TurnState:
        """One turn to its end."""
        return self.start(prompt, chat, **options).wait(LIMIT_SECONDS)  # type: ignore[arg-type] # start's own

    def at_work(self) -> Turn:
        """A turn that has been asked, is on record, and does not end by itself."""
        turn = self.start("mock:hold")
        self.api.wait(lambda records: len(records) == 1, seconds=LIMIT_SECONDS)
        self.until(lambda: len(self.exchanges()) == 1)
        return turn

    def exchanges(self) -> list[Exchange]:
        return list(TOOL.exchanges(self.home, self.where))

    def until(self, is_true: Callable[[], bool]) -> None:
        """Wait for a condition."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not is_true():
            assert time.monotonic() < deadline, "it never became true"
            time.sleep(0.05)

    def end(self) -> None:
        for turn in runner.turns_of(self._turns):
            turn.kill()
            turn.end_leftovers()


@pytest.fixture
def agent(
    agent_clis: Path,
    model_api: ModelApi,
    cli_home: Path,
    tmux_server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Agent]:
    """A headless agent that talks to the scripted model API."""
    monkeypatch.setenv("PATH", clis.search_path(agent_clis, os.environ["PATH"]))
    made = Agent(cli_home, Tmux(tmux_server), model_api)
    yield made
    made.end()


def test_a_conversation_is_begun_resumed_by_id_and_resumed_as_the_latest(agent: Agent) -> None:
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


def test_the_latest_of_none_is_a_new_conversation(agent: Agent) -> None:
    """An agent's first turn may ask for the latest."""
    state = agent.run("mock:ok", Chat(mode="latest"))

    assert (state.status, state.answer, state.session_id is None) == ("completed", "OK", False)


def test_model_reasoning_role_and_prompt_reach_the_api_at_every_turn(agent: Agent) -> None:
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
    agent: Agent, permissions: Permissions, result: str
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
    assert [TOOL.meaning(report) for _, report in spool.read(agent.spool)] == ["submitted", "ended"]


def test_edits_are_made_without_asking_where_they_are_allowed(agent: Agent) -> None:
    """Files yes, other commands no."""
    path = agent.where / "new.txt"
    write = f'[[mock {{"tool": "Write", "args": {{"file_path": "{path}", "content": "x"}}}}]]'
    state = agent.run(f'{write} [[mock {{"shell": "env > ran"}}]] mock:ok', permissions="edits")

    assert (state.status, path.read_text()) == ("completed", "x")
    assert not (agent.where / "ran").exists()


def test_hooks_report_what_was_asked_and_how_it_ended(agent: Agent) -> None:
    """A failure of the API has a report of its own."""
    agent.run("mock:ok")
    agent.run("mock:400")

    reports = [report for _, report in spool.read(agent.spool)]
    assert [TOOL.meaning(report) for report in reports] == ["submitted", "ended", "submitted", "failed"]
    assert TOOL.submitted_prompt(reports[0]) == "mock:ok"


@pytest.mark.parametrize(
    ("scenario", "words"), [("400", "scripted bad request"), ("toolong", "Prompt is too long")]
)
def test_a_failure_of_the_api_fails_the_turn(agent: Agent, scenario: str, words: str) -> None:
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
    agent: Agent, scenario: str, answer: str, calls: list[str]
) -> None:
    """An overloaded API is asked again, and so is one whose stream broke."""
    state = agent.run(f"mock:{scenario}")

    assert (state.status, state.returncode) == ("completed", 0)
    assert (state.answer or "").startswith(answer)
    assert [record.outcome for record in agent.api.main_records()] == calls


def test_resuming_an_unknown_conversation_fails_with_claudes_words(agent: Agent) -> None:
    """Nothing is asked of the model, and the id is the one that was asked for."""
    state = agent.run("mock:ok", Chat(mode="exact", id=UNKNOWN_CHAT))

    assert (state.status, state.returncode, state.session_id) == ("failed", 1, UNKNOWN_CHAT)
    assert state.error == f"No conversation found with session ID: {UNKNOWN_CHAT}"
    assert agent.api.main_records() == []


def test_an_interrupted_turn_is_one_and_its_conversation_goes_on(agent: Agent) -> None:
    """Claude ends with exit code 0; its terminal event says why."""
    turn = agent.at_work()

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
    agent: Agent, number: signal.Signals, returncode: int, ending: str
) -> None:
    """Its conversation is known all the same, and goes on."""
    turn = agent.at_work()
    os.kill(_program(turn).pid, number)

    state = turn.wait(LIMIT_SECONDS)
    assert (state.status, state.returncode) == ("failed", returncode)
    assert (state.error or "").startswith(f"crashed: ended without a result ({ending})")
    again = agent.run("mock:ok", Chat(mode="exact", id=state.session_id))
    assert (again.status, again.session_id) == ("completed", state.session_id)
    assert [each.outcome for each in agent.exchanges()] == ["interrupted", "success"]


@pytest.mark.parametrize("end", [Turn.interrupt, Turn.kill])
def test_a_command_ends_with_its_turn(agent: Agent, end: Callable[[Turn], object]) -> None:
    """Nothing that the agent started outlives it."""
    turn = agent.start("mock:sleep", permissions="all")
    agent.until(lambda: "sleep" in _commands(agent))
    end(turn)

    assert turn.wait(LIMIT_SECONDS).status == "interrupted"
    agent.until(lambda: not {"sleep", "claude"} & _commands(agent))


def _program(turn: Turn) -> processes.Process:
    claim = turn.folder.read_claim()
    assert isinstance(claim, Run)
    return claim.child


def _commands(agent: Agent) -> set[str]:
    """The names of what runs in the agent's folder."""
    return {_name(process) for process in leftovers.users_of(agent.where)}


def _name(process: processes.Process) -> str:
    try:
        return Path(f"/proc/{process.pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return ""

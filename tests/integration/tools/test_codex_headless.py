"""The real Codex, one headless turn after the other in a real tmux, by the product's own layers."""

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
from posthouse.tools.codex.profile import TOOL
from posthouse.tools.tool import Chat, Launch, Permissions, Setup, TurnOrder
from posthouse.turns import runner
from posthouse.turns.folder import Run
from posthouse.turns.order import Order
from posthouse.turns.state import TurnState
from posthouse.turns.turn import Turn

LIMIT_SECONDS = 30
MODEL = "gpt-5"
NEW = Chat()
#: A broken stream is tried again five times by default, over half a minute.
FEW_RETRIES = ("--config=model_providers.posthouse.stream_max_retries=1",)
UNKNOWN_CHAT = "00000000-0000-7000-8000-000000000000"


class Agent:
    """One headless agent: its home, its pane and its turns."""

    def __init__(self, folder: Path, tmux: Tmux, api: ModelApi) -> None:
        self.api = api
        self.home, self.where, self.spool = folder / "home", folder / "proj", folder / "hooks"
        self.where.mkdir()
        self.spool.mkdir()
        self._turns = folder / "turns"
        self._tmux = tmux
        self._secrets = {"OPENAI_API_KEY": clis.API_KEY}
        session.create(tmux, "agent", working_directory=self.where, environment={})
        TOOL.prepare_home(
            Setup(
                home=self.home,
                working_directory=self.where,
                user_home=folder,
                login="env",
                is_headless=True,
                spool=self.spool,
                variables={"OPENAI_BASE_URL": f"{api.base_url}/v1", **self._secrets},
            )
        )

    def start(
        self,
        prompt: str,
        chat: Chat = NEW,
        *,
        model: str | None = MODEL,
        level: int | None = None,
        permissions: Permissions = "edits",
        role: str = "",
    ) -> Turn:
        launch = Launch(
            home=self.home,
            working_directory=self.where,
            role_name="r",
            role_text=role,
            args=FEW_RETRIES,
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
                tool="codex",
                argv=program.argv,
                environment={**program.environment, **clis.NO_NETWORK, "HOME": str(self.home.parent)},
                stdin=program.stdin,
                working_directory=str(self.where),
            ),
            secrets=self._secrets,
        )

    def run(self, prompt: str, chat: Chat = NEW, **options: object) -> TurnState:
        """One turn to its end."""
        return self.start(prompt, chat, **options).wait(LIMIT_SECONDS)  # type: ignore[arg-type] # start's own

    def at_work(self) -> Turn:
        """A turn whose answer has begun and does not end by itself."""
        asked = len(self.api.main_records())
        turn = self.start("mock:hold")
        self.api.wait(lambda _: len(self.api.main_records()) > asked, seconds=LIMIT_SECONDS)
        return turn

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
    exchanges = TOOL.exchanges(agent.home, agent.where)
    assert [(each.prompt, each.answer, each.outcome) for each in exchanges] == [("mock:ok", "OK", "success")]


def test_the_latest_of_none_is_a_new_conversation(agent: Agent) -> None:
    """An agent's first turn may ask for the latest."""
    state = agent.run("mock:ok", Chat(mode="latest"))

    assert (state.status, state.answer, state.session_id is None) == ("completed", "OK", False)


def test_model_reasoning_and_role_reach_the_api(agent: Agent) -> None:
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
def test_a_command_runs_where_the_permissions_allow_it(agent: Agent, permissions: Permissions) -> None:
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


def test_nothing_is_written_by_an_agent_that_should_ask(agent: Agent) -> None:
    """There is nobody to ask: the command fails, and the turn goes on."""
    state = agent.run("mock:shell mock:ok", permissions="ask")

    assert (state.status, state.answer) == ("completed", "OK")
    assert not (agent.where / "mock-made-this.txt").exists()


def test_hooks_report_without_having_been_reviewed(agent: Agent) -> None:
    """Their trust was seeded, so that `exec` runs them."""
    agent.run("mock:ok")

    reports = [report for _, report in spool.read(agent.spool)]
    assert [TOOL.meaning(report) for report in reports] == ["submitted", "ended"]
    assert TOOL.submitted_prompt(reports[0]) == "mock:ok"


@pytest.mark.parametrize(
    ("scenario", "words"),
    [("400", "scripted bad request"), ("toolong", "context_length_exceeded"), ("drop", "stream")],
)
def test_a_failure_of_the_api_fails_the_turn(agent: Agent, scenario: str, words: str) -> None:
    """With the provider's words, and the id of a conversation that can go on."""
    state = agent.run(f"mock:{scenario}")

    assert (state.status, state.returncode, state.session_id is None) == ("failed", 1, False)
    assert state.error is not None
    assert words in state.error
    assert TOOL.exchanges(agent.home, agent.where)[-1].outcome == "error"


def test_an_overloaded_api_is_asked_again(agent: Agent) -> None:
    """What comes right in the end is no failure."""
    state = agent.run("mock:529x2")

    assert (state.status, state.answer) == ("completed", "recovered after overload")


def test_resuming_an_unknown_conversation_fails_with_codexs_words(agent: Agent) -> None:
    """Nothing is asked of the model."""
    state = agent.run("mock:ok", Chat(mode="exact", id=UNKNOWN_CHAT))

    assert (state.status, state.returncode, state.session_id) == ("failed", 1, None)
    assert f"no rollout found for thread id {UNKNOWN_CHAT}" in (state.error or "")
    assert agent.api.main_records() == []


def test_an_interrupted_turn_is_one_and_its_conversation_goes_on(agent: Agent) -> None:
    """Codex leaves no terminal event and an exit code of 1; we know that we signalled."""
    turn = agent.at_work()

    assert turn.interrupt()
    state = turn.wait(LIMIT_SECONDS)
    assert (state.status, state.error) == ("interrupted", "stopped on request (interrupt)")
    assert state.session_id is not None
    assert TOOL.exchanges(agent.home, agent.where)[-1].outcome == "interrupted"
    again = agent.run("mock:ok", Chat(mode="exact", id=state.session_id))
    assert (again.status, again.session_id) == ("completed", state.session_id)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_turn_that_somebody_else_ends_has_crashed(agent: Agent, number: signal.Signals) -> None:
    """Its conversation is known all the same, and goes on."""
    turn = agent.at_work()
    codex, *_ = _programs(turn)
    os.kill(codex.pid, number)

    state = turn.wait(LIMIT_SECONDS)
    assert (state.status, state.returncode) == ("failed", -number)
    assert f"crashed: ended without a result (killed by {number.name})" in (state.error or "")
    assert state.session_id is not None
    again = agent.run("mock:ok", Chat(mode="exact", id=state.session_id))
    assert (again.status, again.session_id) == ("completed", state.session_id)
    outcomes = [each.outcome for each in TOOL.exchanges(agent.home, agent.where)]
    assert outcomes == ["interrupted", "success"]


@pytest.mark.parametrize("permissions", ["edits", "all"])
@pytest.mark.parametrize("end", [Turn.interrupt, Turn.kill])
def test_a_command_ends_with_its_turn(
    agent: Agent, permissions: Permissions, end: Callable[[Turn], object]
) -> None:
    """In codex's sandbox and without it."""
    turn = agent.start("mock:sleep", permissions=permissions)
    agent.until(lambda: any("sleep\x0020" in _command_of(each) for each in leftovers.users_of(agent.where)))
    end(turn)

    state = turn.wait(LIMIT_SECONDS)
    agent.until(
        lambda: not any("sleep\x0020" in _command_of(each) for each in leftovers.users_of(agent.where))
    )
    assert state.status == "interrupted"


def test_no_process_outlives_a_turn(agent: Agent) -> None:
    """Codex leaves neither a server nor an updater."""
    turn = agent.start("mock:ok")
    state = turn.wait(LIMIT_SECONDS)

    codex = [each for each in leftovers.users_of(agent.home) if "codex" in _command_of(each)]
    assert (state.status, codex) == ("completed", [])


def _programs(turn: Turn) -> list[processes.Process]:
    """The turn's codex, and what it has started."""
    claim = turn.folder.read_claim()
    assert isinstance(claim, Run)
    return processes.tree(claim.child.pid)


def _command_of(process: processes.Process) -> str:
    try:
        return Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()
    except FileNotFoundError:  # it has ended meanwhile
        return ""

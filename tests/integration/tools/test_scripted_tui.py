"""The scripted agent's TUI in a real tmux."""

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from posthouse.support import clock
from posthouse.terminal.screen import Screen
from posthouse.testing.pane import Pane, open_pane
from posthouse.testing.truth import TruthLog
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.tools.scripted.profile import TOOL
from posthouse.tools.tool import Chat, Exchange, Launch, Setup

NEW = Chat()
Start = Callable[..., "Agent"]


class Agent:
    """A TUI in a pane, its truth log and its transcript."""

    def __init__(self, pane: Pane, home: Path, where: Path) -> None:
        self.pane = pane
        self.truth = TruthLog(home / "truth.jsonl")
        self._home = home
        self._where = where

    def state(self, *states: str, seconds: float = LIMIT_SECONDS) -> Screen:
        """Wait until the surface is in one of *states*."""
        return self.pane.wait(lambda screen: TOOL.read_surface(screen).state in states, seconds=seconds)

    def composer(self, text: str) -> None:
        """Wait until the composer shows *text*."""
        self.pane.wait(lambda screen: TOOL.read_surface(screen).composer == text)

    def submit(self, text: str) -> None:
        """Paste, and press Enter until the composer is empty: what a patient person does."""
        self.pane.paste(text)
        self.pane.wait(lambda screen: bool(TOOL.read_surface(screen).composer))
        taken = len(self.truth.events("prompt", "queued", "shell", "command", "unknown_command"))
        self.truth.wait(lambda log: self._entered(log, taken))

    def _entered(self, log: TruthLog, before: int) -> bool:
        if len(log.events("prompt", "queued", "shell", "command", "unknown_command")) > before:
            return True
        if (TOOL.read_surface(self.pane.screen()).composer or "") != "":
            self.pane.press("Enter")
        return False

    def exchanges(self) -> list[Exchange]:
        return list(TOOL.exchanges(self._home, self._where))

    def finished(self, count: int) -> None:
        """Wait until *count* turns have ended."""
        self.truth.wait(lambda log: len(log.events("answer")) == count)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a TUI as some persona, in a trusted folder unless told."""
    home, where = tmp_path / "home", tmp_path / "proj"
    home.mkdir()
    where.mkdir()
    with ExitStack() as open_panes:

        def start(
            persona: str = "plain",
            *,
            trusted: bool = True,
            chat: Chat = NEW,
            columns: int = 120,
            rows: int = 40,
        ) -> Agent:
            if trusted:
                TOOL.prepare_home(Setup(home=home, working_directory=where, user_home=home))
            launch = Launch(home=home, working_directory=where, role_name="r", args=("--persona", persona))
            program = TOOL.tui_program(launch, chat)
            pane = open_panes.enter_context(
                open_pane(
                    program.argv,
                    environment=program.environment,
                    working_directory=where,
                    columns=columns,
                    rows=rows,
                )
            )
            return Agent(pane, home, where)

        yield start


ALL = pytest.mark.parametrize("persona", ["plain", "claude", "codex", "gemini"])


@ALL
def test_a_prompt_goes_in_and_an_answer_comes_out(start: Start, persona: str) -> None:
    """Ready, active, ready again; transcript and truth log agree."""
    agent = start(persona)
    agent.state("ready")
    agent.submit("hello [[wait 0.6]] [[say good morning]]")
    agent.state("active")
    agent.finished(1)
    agent.state("ready")

    assert agent.truth.prompts() == ["hello [[wait 0.6]] [[say good morning]]"]
    assert agent.truth.answers() == ["good morning"]
    assert "good morning" in agent.pane.text()
    [exchange] = agent.exchanges()
    assert (exchange.prompt, exchange.answer, exchange.outcome) == (
        "hello [[wait 0.6]] [[say good morning]]",
        "good morning",
        "success",
    )


@ALL
def test_a_big_paste_arrives_exactly(start: Start, persona: str) -> None:
    """However it is shown, the agent gets every line of it."""
    agent = start(persona)
    agent.state("ready")
    prompt = "\n".join(f"line {number} äß" for number in range(3000))
    agent.submit(prompt)

    assert agent.truth.prompts() == [prompt]


@ALL
def test_what_the_guard_lets_through_is_a_prompt(start: Start, persona: str, tmp_path: Path) -> None:
    """Nothing is run, lost or held back."""
    agent = start(persona)
    agent.state("ready")
    for number, prompt in enumerate(["!touch ran", "/nope x", "ends with \\"], 1):
        agent.submit(TOOL.escape_prompt(prompt))
        agent.finished(number)
        agent.state("ready")

    assert [text.strip() for text in agent.truth.prompts()] == [
        "Message:\n!touch ran",
        "/nope x",
        "ends with \\ .",
    ]
    assert agent.truth.events("shell", "unknown_command") == []
    assert not (tmp_path / "proj" / "ran").exists()


@ALL
def test_escape_interrupts_a_turn_that_has_spoken(start: Start, persona: str) -> None:
    """The turn ends at once, without a Stop hook, and the screen says so."""
    agent = start(persona)
    agent.state("ready")
    agent.submit("[[stream 1000 words every 0.05]]")
    agent.pane.wait(lambda screen: any("w0003" in row for row in screen.rows))
    agent.pane.press("Escape")
    agent.finished(1)
    agent.state("ready")

    assert agent.truth.interrupts() == 1
    assert [exchange.outcome for exchange in agent.exchanges()] == ["interrupted"]


def test_claude_takes_a_turn_back_that_had_not_begun_to_answer(start: Start) -> None:
    """Escape before any output: the prompt is a draft again, and no transcript tells of it."""
    agent = start("claude")
    agent.state("ready")
    agent.submit("[[wait 60]]")
    agent.state("active")
    agent.pane.press("Escape")
    agent.composer("[[wait 60]]")

    agent.state("draft")
    assert agent.truth.interrupts() == 1
    assert agent.exchanges() == []


def test_a_permission_dialog_blocks_until_it_is_answered(start: Start, tmp_path: Path) -> None:
    """A prompt pasted into it is eaten; Yes runs the command."""
    agent = start()
    agent.state("ready")
    agent.submit("[[permission touch made]] [[say done]]")
    agent.state("blocked")
    agent.pane.paste("lost words")
    agent.truth.wait(lambda log: "lost words" in log.texts("keys"))
    assert not (tmp_path / "proj" / "made").exists()
    agent.pane.press("Enter")
    agent.finished(1)

    assert (tmp_path / "proj" / "made").exists()
    assert agent.truth.prompts() == ["[[permission touch made]] [[say done]]"]


def test_no_to_a_permission_ends_the_turn(start: Start, tmp_path: Path) -> None:
    """Escape in the dialog is a refusal, and nothing is run."""
    agent = start()
    agent.state("ready")
    agent.submit("[[permission touch made]]")
    agent.state("blocked")
    agent.pane.press("Escape")
    agent.finished(1)

    assert [event["outcome"] for event in agent.truth.events("answer")] == ["interrupted"]
    assert not (tmp_path / "proj" / "made").exists()


def test_a_question_is_answered_by_a_choice(start: Start) -> None:
    """The choice becomes part of the answer."""
    agent = start()
    agent.state("ready")
    agent.submit("[[ask Which colour? | red | blue]]")
    agent.state("blocked")
    agent.pane.press("Down", "Enter")
    agent.finished(1)

    assert agent.truth.answers() == ["You chose blue."]


@pytest.mark.parametrize("persona", ["claude", "codex", "gemini"])
def test_an_untrusted_folder_is_asked_about_first(start: Start, persona: str) -> None:
    """Until it is answered nothing is taken; No ends the program."""
    agent = start(persona, trusted=False)
    screen = agent.state("blocked")
    assert TOOL.read_surface(screen).dialog == "trust"
    agent.pane.press("Down", "Enter")

    agent.state("exited")
    assert agent.truth.events("exit")[0]["code"] == 0


def test_codex_shows_its_composer_before_it_listens(start: Start) -> None:
    """What is typed into the splash is lost."""
    agent = start("codex", trusted=False)
    agent.state("blocked")
    agent.pane.press("Enter")
    agent.state("starting")
    agent.pane.paste("too early")
    agent.state("ready")

    assert agent.truth.texts("lost") == ["Pasted(text='too early')"]


def test_gemini_loses_an_enter_right_after_a_paste(start: Start) -> None:
    """The text stays in the composer; a later Enter submits it."""
    agent = start("gemini")
    agent.state("ready")
    # One write, so that the Enter can't come late.
    agent.pane.tmux("send-keys", "-t", "agent:0.0", "-H", *_hex("\x1b[200~hello\x1b[201~\r"))
    agent.composer("hello")
    agent.truth.wait(lambda log: "Enter" in log.texts("keys"))
    assert agent.truth.prompts() == []
    agent.state("draft")
    agent.truth.wait(lambda log: agent._entered(log, 0))

    assert agent.truth.prompts() == ["hello"]


def test_codex_takes_enter_for_a_newline_right_after_typed_text(start: Start) -> None:
    """Two prompts typed in haste become one."""
    agent = start("codex")
    agent.state("ready")
    agent.pane.tmux("send-keys", "-t", "agent:0.0", "-H", *_hex("first\r"))
    agent.composer("first")
    assert agent.truth.prompts() == []
    agent.pane.tmux("send-keys", "-t", "agent:0.0", "-H", *_hex("second"))
    agent.truth.wait(lambda log: agent._entered(log, 0))

    assert agent.truth.prompts()[0].startswith("first\nsecond")


@pytest.mark.parametrize("persona", ["claude", "codex"])
def test_a_bang_runs_a_shell(start: Start, persona: str, tmp_path: Path) -> None:
    """What the guard protects from is real."""
    agent = start(persona)
    agent.state("ready")
    agent.submit("!touch ran")
    agent.truth.wait(lambda log: bool(log.events("shell")))
    agent.state("ready")

    assert (tmp_path / "proj" / "ran").exists()
    assert agent.truth.prompts() == []


def test_an_unknown_command_is_lost_by_claude_and_left_over_by_codex(start: Start) -> None:
    """Neither reaches the agent."""
    claude = start("claude")
    claude.state("ready")
    claude.submit("/nope x")
    claude.state("ready")
    codex = start("codex")
    codex.state("ready")
    codex.submit("/nope x")
    codex.composer("/nope x")

    assert codex.truth.prompts() == []


@pytest.mark.parametrize("persona", ["claude", "gemini"])
def test_input_during_a_turn_waits_for_its_end(start: Start, persona: str) -> None:
    """A queued prompt is carried out next, and Escape brings it on at once."""
    agent = start(persona)
    agent.state("ready")
    agent.submit("[[say begun]] [[wait 60]]")
    agent.pane.wait(lambda screen: any(row.endswith("begun") for row in screen.rows))
    agent.submit("second [[say two]]")
    agent.truth.wait(lambda log: bool(log.events("queued")))
    assert len(agent.truth.prompts()) == 1
    agent.pane.press("Escape")
    agent.finished(2)

    assert agent.truth.prompts() == ["[[say begun]] [[wait 60]]", "second [[say two]]"]
    assert [event["outcome"] for event in agent.truth.events("answer")] == ["interrupted", "success"]


def test_codex_is_steered_by_input_during_a_turn(start: Start) -> None:
    """The second prompt joins the running turn; one answer closes both."""
    agent = start("codex")
    agent.state("ready")
    agent.submit("[[wait 1]] [[say one]]")
    agent.state("active")
    agent.submit("[[say two]]")
    agent.finished(1)

    assert [event["steers"] for event in agent.truth.events("prompt")] == [False, True]
    assert [exchange.outcome for exchange in agent.exchanges()] == ["success", "success"]


def test_clear_begins_a_new_conversation(start: Start) -> None:
    """A new session id, an empty transcript, no memory, a fresh screen."""
    agent = start()
    agent.state("ready")
    agent.submit("remember me")
    agent.finished(1)
    agent.state("ready")
    agent.submit("/clear")
    agent.truth.wait(lambda log: bool(log.events("reset")))
    assert agent.exchanges() == []
    agent.state("ready")
    agent.submit("[[recall]]")
    agent.finished(2)

    assert agent.truth.answers()[1] == "I remember nothing."
    first, second = (event["session_id"] for event in agent.truth.events("answer"))
    assert first != second


def test_a_conversation_goes_on_after_a_restart(start: Start) -> None:
    """The latest conversation is continued under its id."""
    agent = start()
    agent.state("ready")
    agent.submit("remember me")
    agent.finished(1)
    again = start(chat=Chat(mode="latest"))
    again.state("ready")
    again.submit("[[recall]]")
    again.finished(2)

    assert again.truth.answers()[1] == "I remember:\n1. remember me"


def test_leaving_needs_two_ctrl_c_but_codex_goes_at_the_first(start: Start) -> None:
    """The first one only warns, and clears a draft."""
    plain = start()
    plain.state("ready")
    plain.pane.type("draft")
    plain.composer("draft")
    plain.pane.press("C-c")
    plain.state("ready")
    plain.pane.press("C-c")
    plain.pane.wait(lambda screen: any("again to exit" in row for row in screen.rows))
    plain.pane.press("C-c")
    plain.state("exited")
    codex = start("codex")
    codex.state("ready")
    codex.pane.press("C-c")

    codex.state("exited")


@ALL
def test_a_window_of_another_size_is_repainted(start: Start, persona: str) -> None:
    """Down to 40 columns and back, the composer and what stands in it can be read."""
    agent = start(persona)
    agent.state("ready")
    agent.submit("[[stream 60 words every 0]]")
    agent.finished(1)
    agent.state("ready")
    draft = "a draft that is wider than the small window can be"
    agent.pane.type(draft)
    agent.composer(draft)
    for columns, rows in ((40, 12), (200, 50), (80, 24)):
        agent.pane.resize(columns, rows)
        agent.pane.wait(functools.partial(_shows, draft, rows))


def test_hooks_and_transcript_may_be_missing(start: Start) -> None:
    """The agent works on; only its traces are not there."""
    agent = start("plain+no-hooks+no-transcript")
    agent.state("ready")
    agent.submit("one")
    agent.finished(1)
    agent.state("ready")
    agent.submit("[[recall]]")
    agent.finished(2)

    assert agent.truth.answers()[1] == "I remember:\n1. one"
    assert agent.exchanges() == []


def test_hooks_and_transcript_may_lag(start: Start, tmp_path: Path) -> None:
    """They come after the fact, and they come."""
    out = tmp_path / "hooks.jsonl"
    (tmp_path / "home" / "settings.json").write_text(
        json.dumps({"hooks": dict.fromkeys(["UserPromptSubmit", "Stop"], f"cat >> {out}; echo >> {out}")})
    )
    agent = start("plain+lagging")
    agent.state("ready")
    agent.submit("one [[say two]]")
    agent.truth.wait(lambda log: log.texts("hook") == ["UserPromptSubmit", "Stop"])
    agent.truth.wait(lambda _: [exchange.answer for exchange in agent.exchanges()] == ["two"])

    [taken], hooks = agent.truth.events("prompt"), agent.truth.events("hook")
    lag = clock.parse(hooks[0]["at"]) - clock.parse(taken["at"])
    assert lag.total_seconds() >= 0.3
    agent.truth.wait(lambda _: len(out.read_text().splitlines()) == 2)


def test_a_crash_leaves_a_dead_pane(start: Start) -> None:
    """The surface says so."""
    agent = start()
    agent.state("ready")
    agent.submit("[[crash 7]]")

    agent.state("exited")
    assert agent.truth.texts("crash") == ["7"]


def _shows(draft: str, rows: int, screen: Screen) -> bool:
    """Whether a screen of *rows* has *draft* in its composer, wherever it is broken."""
    composer = TOOL.read_surface(screen).composer or ""
    return len(screen.rows) == rows and "".join(composer.split()) == "".join(draft.split())


def _hex(text: str) -> list[str]:
    return [f"{byte:02x}" for byte in text.encode()]

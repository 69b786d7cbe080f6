"""The TUI without a clock or a person: input and time go in, a view comes out."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path

import pytest

from posthouse.testing.truth import TruthLog
from posthouse.tools.scripted import personas
from posthouse.tools.scripted.agent import AgentRun
from posthouse.tools.scripted.arguments import Arguments
from posthouse.tools.scripted.conversation import Conversation
from posthouse.tools.scripted.hooks import HookRunner
from posthouse.tools.scripted.interactive import Interactive
from posthouse.tools.scripted.keys import Input, Pasted, Pressed, Typed
from posthouse.tools.scripted.page import Page
from posthouse.tools.scripted.painter import Painter
from posthouse.tools.scripted.signals import SignalQueue
from posthouse.tools.scripted.truth import TruthWriter
from posthouse.tools.scripted.view import LiveView

ENTER, ESCAPE, CTRL_C = Pressed("Enter"), Pressed("Escape"), Pressed("Ctrl-C")


class Desk:
    """A TUI whose time passes only when a test says so."""

    def __init__(self, folder: Path, persona: str, descriptor: int) -> None:
        truth = TruthWriter(folder / "truth.jsonl")
        self.truth = TruthLog(folder / "truth.jsonl")
        agent = AgentRun(
            arguments=Arguments(),
            home=folder,
            working_directory=folder,
            environment={},
            persona=personas.find(persona),
            settings={"trusted": [str(folder)]},
            truth=truth,
            hooks=HookRunner({}, truth),
            signals=SignalQueue(truth),
        )
        self.now = 1000.0
        conversation = Conversation(agent, agent.new_conversation(), lambda _seconds, action: action())
        page = Page(Painter(descriptor, alternate_screen=False), agent.persona.appearance, banner="")
        self.tui = Interactive(agent, conversation, page, now=self.now)
        self.after(1.0)

    def after(self, seconds: float) -> LiveView:
        """Let time pass."""
        self.now += seconds
        self.tui.tick(self.now)
        return self.tui.view(self.now)

    def press(self, *items: Input) -> LiveView:
        """Input, each a second after the one before."""
        for item in items:
            self.now += 1.0
            self.tui.handle(item, self.now)
        return self.tui.view(self.now)


@contextmanager
def _desk(folder: Path, persona: str) -> Iterator[Desk]:
    primary, secondary = os.openpty()
    try:
        yield Desk(folder.resolve(), persona, secondary)
    finally:
        os.close(primary)
        os.close(secondary)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with _desk(tmp_path, "plain") as desk:
        yield desk


def test_an_idle_agent_waits_for_nothing_but_a_key(desk: Desk) -> None:
    """Nothing is due while nothing happens, so that idling costs nothing."""
    assert desk.tui.next_due() == inf
    desk.press(Typed("hello [[wait 9]]"), ENTER)
    desk.after(1.0)
    assert desk.tui.next_due() == desk.now + 9
    desk.after(9.5)

    assert desk.truth.answers() == [desk.truth.texts("answer")[0]]
    assert desk.tui.next_due() == inf


def test_a_turn_is_seen_to_begin_and_to_end(desk: Desk) -> None:
    """Even the quickest turn is active for a moment."""
    desk.press(Typed("hi"), ENTER)
    assert desk.after(0.1).active_seconds is not None
    ended = desk.after(0.5)

    assert (ended.active_seconds, ended.draft) == (None, "")


def test_ctrl_c_interrupts_then_clears_then_warns_then_leaves(desk: Desk) -> None:
    """One key with four meanings, the gentlest first."""
    desk.press(Typed("[[wait 60]]"), ENTER, Typed("draft"), CTRL_C)
    assert desk.truth.interrupts() == 1
    assert desk.press(CTRL_C).draft == ""
    assert desk.press(CTRL_C).notice == "  Press Ctrl-C again to exit"
    assert desk.tui.exit_code is None
    desk.press(CTRL_C)

    assert desk.tui.exit_code == 0


def test_a_late_second_ctrl_c_only_warns_again(desk: Desk) -> None:
    """Leaving takes two in a row."""
    desk.press(CTRL_C)
    desk.after(5.0)
    desk.press(CTRL_C)

    assert desk.tui.exit_code is None


def test_up_brings_a_queued_message_back(desk: Desk) -> None:
    """What waits can still be changed."""
    desk.press(Typed("[[wait 60]]"), ENTER)
    assert desk.press(Typed("later"), ENTER).queued == ("later",)
    edited = desk.press(Pressed("Up"))

    assert (edited.queued, edited.draft) == ((), "later")


def test_the_queue_is_bounded_and_what_does_not_fit_stays_a_draft(desk: Desk) -> None:
    """Nothing a person wrote is thrown away."""
    desk.press(Typed("[[wait 86400]]"), ENTER)
    for number in range(101):
        full = desk.press(Typed(str(number)), ENTER)

    assert (len(full.queued), full.draft, full.notice) == (100, "100", "  100 messages are waiting already")


def test_the_last_prompt_comes_back_by_escape_twice_in_codex(tmp_path: Path) -> None:
    """A stray Escape on an idle composer is not harmless."""
    with _desk(tmp_path, "codex") as desk:
        desk.press(Pasted("hello"), ENTER)
        desk.after(1.0)
        assert desk.press(ESCAPE).notice == "  esc again to edit previous message"
        assert desk.press(ESCAPE).draft == "hello"


def test_a_backslash_at_the_end_becomes_a_newline_in_claude(tmp_path: Path) -> None:
    """The backslash goes and nothing is submitted."""
    with _desk(tmp_path, "claude") as desk:
        assert desk.press(Typed("a\\"), ENTER).draft == "a\n"
        assert desk.truth.prompts() == []


def test_a_leftover_has_its_cursor_at_the_start_in_codex(tmp_path: Path) -> None:
    """What is pasted next merges with it."""
    with _desk(tmp_path, "codex") as desk:
        left = desk.press(Pasted("/nope x"), ENTER)
        assert (left.draft, left.cursor) == ("/nope x", 0)
        assert desk.press(Pasted("new ")).draft == "new /nope x"


def test_compacting_and_leaving_are_commands(desk: Desk) -> None:
    """Neither is a prompt."""
    desk.press(Typed("/compact"), ENTER, Typed("/exit"), ENTER)

    assert (desk.truth.texts("command"), desk.truth.prompts()) == (["compact", "exit"], [])
    assert desk.tui.exit_code == 0


def test_a_failed_turn_is_an_error_with_its_text(desk: Desk) -> None:
    """The answer is what the provider said."""
    desk.press(Typed("[[retry 2]] [[fail context]]"), ENTER)
    desk.after(1.0)
    desk.after(1.0)

    [answer] = desk.truth.events("answer")
    assert (answer["outcome"], answer["text"]) == ("error", "Prompt is too long")

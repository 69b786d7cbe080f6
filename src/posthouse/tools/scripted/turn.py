"""A turn of the TUI in progress: makes its moves until it has to wait for something."""

from collections.abc import Iterator
from itertools import chain
from typing import Literal, Protocol

from posthouse.tools.scripted import dialog, effects
from posthouse.tools.scripted.dialog import Dialog
from posthouse.tools.scripted.directives import (
    Ask,
    Complain,
    Crash,
    Fail,
    IgnoreSignals,
    Retry,
    Say,
    Spawn,
    Think,
    UseTool,
    Wait,
)
from posthouse.tools.scripted.script import Move
from posthouse.tools.scripted.stream import FAILURES

#: No model answers at once: whoever watches sees the turn begin.
_THINKING_SECONDS = 0.2
_POLL_SECONDS = 0.05
_RETRY_SECONDS = 0.5
_NO = 2

Outcome = Literal["success", "error", "refused"]


class Stage(Protocol):
    """Where a turn is seen and what it may touch."""

    def say(self, text: str) -> None:
        """Go on with the answer."""

    def note(self, text: str) -> None:
        """Show a finished line of its own."""

    def used(self, command: str) -> None:
        """Show that a tool is used."""

    def got(self, output: str) -> None:
        """Show what it gave."""

    def ask(self, dialog: Dialog) -> None:
        """Put a question to the person; `Turn.answer` is called with the reply."""

    def crash(self, order: Crash) -> None: ...

    def spawn(self, seconds: float) -> None: ...

    def ignore_signals(self) -> None: ...


class Turn:
    """One prompt being carried out. Time comes from outside, so nothing here blocks."""

    def __init__(self, prompt: str | None, moves: Iterator[Move], stage: Stage, *, now: float) -> None:
        #: None: a shell command that a person typed, no prompt.
        self.prompt = prompt
        self.started_at = now
        self.answer_text = ""
        #: Set when it has ended.
        self.outcome: Outcome | None = None
        self._moves = moves
        self._stage = stage
        self._resume_at: float | None = now + _THINKING_SECONDS
        self._command: effects.Command | None = None
        self._asked: UseTool | Ask | None = None

    @property
    def resume_at(self) -> float | None:
        """When to call `advance` again; None while a person is being asked."""
        return self._resume_at

    def join(self, moves: Iterator[Move]) -> None:
        """Go on with *moves* after its own: a prompt that steers the running turn."""
        self._moves = chain(self._moves, moves)

    def advance(self, now: float) -> None:
        """Make every move that is due."""
        while self.outcome is None and self._resume_at is not None and self._resume_at <= now:
            if self._command is not None:
                self._watch(self._command, now)
                continue
            move = next(self._moves, None)
            if move is None:
                self.outcome = "success"
            else:
                self._make(move, now)

    def answer(self, choice: int | None, now: float) -> None:
        """Go on after the person chose (None: Escape)."""
        asked, self._asked, self._resume_at = self._asked, None, now
        if isinstance(asked, UseTool):
            if choice is None or choice == _NO:
                self.outcome = "refused"
            else:
                self._command = effects.Command(asked.command)
        elif isinstance(asked, Ask):
            if choice is None:
                self.outcome = "refused"
            else:
                self._say(f"You chose {asked.choices[choice]}.")

    def close(self) -> None:
        """End what it left running of its own commands. A second call does nothing."""
        if self._command is not None:
            self._command.close()
            self._command = None

    def _make(self, move: Move, now: float) -> None:
        match move:
            case Say(text):
                self._say(text)
            case Think(text):
                self._stage.note(f"∴ {text}")
            case Wait(seconds):
                self._resume_at = now + seconds
            case UseTool(command, needs_permission):
                self._use_tool(move, command, needs_permission)
            case Ask(question, choices):
                self._put(move, dialog.question(question, choices))
            case Fail(kind, seconds):
                self._fail(FAILURES[kind][0] + (effects.resets_in(seconds) if seconds else ""))
            case Retry(attempts):
                self._stage.note(f"API error · Retrying · attempt {attempts}/{attempts}")
                self._resume_at = now + _RETRY_SECONDS
            case Complain(text):
                self._stage.note(text)
            case Crash():
                self._stage.crash(move)
            case Spawn(seconds):
                self._stage.spawn(seconds)
            case IgnoreSignals():
                self._stage.ignore_signals()

    def _say(self, text: str) -> None:
        self.answer_text += text
        self._stage.say(text)

    def _fail(self, text: str) -> None:
        self.answer_text = text
        self.outcome = "error"

    def _use_tool(self, move: UseTool, command: str, needs_permission: bool) -> None:
        self._stage.used(command)
        if needs_permission:
            self._put(move, dialog.permission(command))
        else:
            self._command = effects.Command(command)

    def _put(self, move: UseTool | Ask, question: Dialog) -> None:
        self._asked, self._resume_at = move, None
        self._stage.ask(question)

    def _watch(self, command: effects.Command, now: float) -> None:
        if command.exit_code() is None:
            self._resume_at = now + _POLL_SECONDS
            return
        self._stage.got(command.output())
        self.close()

"""A running turn of the TUI: performs its actions until it has to wait."""

from collections.abc import Iterator
from itertools import chain
from typing import Literal, Protocol

from posthouse.tools.scripted import dialog, effects
from posthouse.tools.scripted.dialog import Dialog
from posthouse.tools.scripted.directives import (
    Ask,
    Crash,
    Fail,
    IgnoreSignals,
    Retry,
    Say,
    Spawn,
    Think,
    UseTool,
    Wait,
    WriteStderr,
)
from posthouse.tools.scripted.script import Action
from posthouse.tools.scripted.stream import FAILURES

#: A delay before the first action, so that observers see the turn start.
_THINKING_SECONDS = 0.2
_POLL_SECONDS = 0.05
_RETRY_SECONDS = 0.5
_NO_CHOICE = 2

Outcome = Literal["success", "error", "refused"]


class TurnHost(Protocol):
    """The output and the side effects of a turn."""

    def say(self, text: str) -> None:
        """Append to the answer."""

    def note(self, text: str) -> None:
        """Show a separate finished line."""

    def show_tool(self, command: str) -> None:
        """Show a tool call."""

    def show_tool_output(self, output: str) -> None:
        """Show the tool's output."""

    def ask(self, dialog: Dialog) -> None:
        """Open a dialog; `ScriptedTurn.answer` is called with the reply."""

    def crash(self, order: Crash) -> None: ...

    def spawn(self, seconds: float) -> None: ...

    def ignore_signals(self) -> None: ...


class ScriptedTurn:
    """One running prompt. Never blocks: callers pass the time."""

    def __init__(self, prompt: str | None, actions: Iterator[Action], host: TurnHost, *, now: float) -> None:
        #: None: a typed shell command, not a prompt.
        self.prompt = prompt
        self.started_at = now
        self.answer_text = ""
        #: Set when it has ended.
        self.outcome: Outcome | None = None
        self._actions = actions
        self._host = host
        self._resume_at: float | None = now + _THINKING_SECONDS
        self._command: effects.Command | None = None
        self._pending_question: UseTool | Ask | None = None

    @property
    def resume_at(self) -> float | None:
        """When to call `advance` again; None while a dialog is open."""
        return self._resume_at

    def join(self, actions: Iterator[Action]) -> None:
        """Append *actions*: a prompt that steers the running turn."""
        self._actions = chain(self._actions, actions)

    def advance(self, now: float) -> None:
        """Perform every action that is due."""
        while self.outcome is None and self._resume_at is not None and self._resume_at <= now:
            if self._command is not None:
                self._watch(self._command, now)
                continue
            action = next(self._actions, None)
            if action is None:
                self.outcome = "success"
            else:
                self._perform(action, now)

    def answer(self, choice: int | None, now: float) -> None:
        """Continue after the user's choice (None: Escape)."""
        pending, self._pending_question, self._resume_at = self._pending_question, None, now
        if isinstance(pending, UseTool):
            if choice is None or choice == _NO_CHOICE:
                self.outcome = "refused"
            else:
                self._command = effects.Command(pending.command)
        elif isinstance(pending, Ask):
            if choice is None:
                self.outcome = "refused"
            else:
                self._say(f"You chose {pending.choices[choice]}.")

    def close(self) -> None:
        """Kill its running command. Idempotent."""
        if self._command is not None:
            self._command.close()
            self._command = None

    def _perform(self, action: Action, now: float) -> None:
        match action:
            case Say(text):
                self._say(text)
            case Think(text):
                self._host.note(f"∴ {text}")
            case Wait(seconds):
                self._resume_at = now + seconds
            case UseTool(command, needs_permission):
                self._use_tool(action, command, needs_permission)
            case Ask(question, choices):
                self._ask(action, dialog.question(question, choices))
            case Fail(kind, seconds):
                self._fail(FAILURES[kind][0] + (effects.resets_in(seconds) if seconds else ""))
            case Retry(attempts):
                self._host.note(f"API error · Retrying · attempt {attempts}/{attempts}")
                self._resume_at = now + _RETRY_SECONDS
            case WriteStderr(text):
                self._host.note(text)
            case Crash():
                self._host.crash(action)
            case Spawn(seconds):
                self._host.spawn(seconds)
            case IgnoreSignals():
                self._host.ignore_signals()

    def _say(self, text: str) -> None:
        self.answer_text += text
        self._host.say(text)

    def _fail(self, text: str) -> None:
        self.answer_text = text
        self.outcome = "error"

    def _use_tool(self, action: UseTool, command: str, needs_permission: bool) -> None:
        self._host.show_tool(command)
        if needs_permission:
            self._ask(action, dialog.permission(command))
        else:
            self._command = effects.Command(command)

    def _ask(self, action: UseTool | Ask, question: Dialog) -> None:
        self._pending_question, self._resume_at = action, None
        self._host.ask(question)

    def _watch(self, command: effects.Command, now: float) -> None:
        if command.exit_code() is None:
            self._resume_at = now + _POLL_SECONDS
            return
        self._host.show_tool_output(command.output())
        self.close()

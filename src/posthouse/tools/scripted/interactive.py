"""The TUI's state machine: drafting, submitting, queueing, dialogs, interrupting.

Uses neither clock nor terminal: callers pass input and the time, and render its view.
"""

from collections.abc import Iterator
from math import inf

from posthouse.tools.scripted import dialog, effects
from posthouse.tools.scripted.agent import AgentRun
from posthouse.tools.scripted.composer import (
    Command,
    Composer,
    Prompt,
    Shell,
    UnknownCommand,
    enter_effect,
    parse_submission,
)
from posthouse.tools.scripted.conversation import Conversation
from posthouse.tools.scripted.dialog import Answer, Dialog
from posthouse.tools.scripted.directives import Crash, UseTool
from posthouse.tools.scripted.keys import Input, Pasted, Pressed, Typed
from posthouse.tools.scripted.page import Page
from posthouse.tools.scripted.script import Action, plan_actions
from posthouse.tools.scripted.turn import ScriptedTurn
from posthouse.tools.scripted.view import Labels, LiveView

#: This many characters at once count as a burst, not as typing.
_BURST_CHARS = 3
_EXIT_SECONDS = 2.0
_MAX_QUEUED = 100
_YELLOW, _DIM = "33", "2"
_EXIT_NOTICE = "  Press Ctrl-C again to exit"
_EDIT_NOTICE = "  esc again to edit previous message"


class Interactive:
    """The TUI's state. `exit_code` is None while it runs."""

    def __init__(self, agent: AgentRun, conversation: Conversation, page: Page, *, now: float) -> None:
        self.exit_code: int | None = None
        self._agent = agent
        self._persona = agent.persona
        self._conversation = conversation
        self._page = page
        self._composer = Composer()
        self._turn: ScriptedTurn | None = None
        self._queue: list[str] = []
        self._notice = ""
        self._pasted_at = self._burst_at = self._ctrl_c_at = -inf
        self._dialog: Dialog | None = None
        self._up_at = now + self._persona.splash_seconds
        if self._persona.asks_for_trust and not self._is_trusted():
            self._dialog = dialog.trust(str(agent.working_directory))
            self._up_at = inf

    # --- called by the loop ---------------------------------------------------------------

    def view(self, now: float) -> LiveView:
        """The live part of the screen now."""
        folder = self._agent.working_directory
        return LiveView(
            appearance=self._persona.appearance,
            labels=Labels(folder=folder.name, path=str(folder), model=self._agent.model),
            columns=self._page.columns,
            rows=self._page.rows,
            draft=self._composer.text,
            cursor=self._composer.cursor,
            tail=self._page.tail,
            active_seconds=now - self._turn.started_at if self._turn else None,
            queued=tuple(self._queue),
            dialog=self._dialog,
            notice=self._notice,
            is_up=now >= self._up_at,
        )

    def next_due(self) -> float:
        """When `tick` is due, if no key arrives before."""
        resume_at = self._turn.resume_at if self._turn else None
        due = (self._up_at, inf if resume_at is None else resume_at)
        # After the start nothing is due: an idle agent sleeps until a key arrives.
        return min(when for when in due if when > -inf)

    @property
    def is_active(self) -> bool:
        return self._turn is not None

    def tick(self, now: float) -> None:
        """Advance the turn."""
        if now >= self._up_at:
            self._up_at = -inf
        if self._turn is None:
            return
        self._turn.advance(now)
        if self._turn.outcome is not None:
            self._finish(self._turn, now)

    def handle(self, item: Input, now: float) -> None:
        """Process one key, some typed text or a paste."""
        if self._dialog is not None:
            self._handle_dialog(self._dialog, item, now)
        elif now < self._up_at:
            self._agent.truth.write("lost", text=repr(item))
        elif isinstance(item, Pressed):
            self._agent.truth.write("keys", text=item.name)
            self._press(item.name, now)
        else:
            self._write(item, now)

    def start(self, prompt: str, now: float) -> None:
        """Submit *prompt*."""
        self._submit(prompt, now)

    def stop(self, code: int) -> None:
        """End the program; a running turn is abandoned."""
        if self._turn is not None:
            self._turn.close()
        self.exit_code = code

    # --- keys -----------------------------------------------------------------------------

    def _write(self, item: Typed | Pasted, now: float) -> None:
        self._notice = ""
        if isinstance(item, Pasted):
            self._agent.truth.write("paste", text=item.text)
            self._composer.paste(item.text, self._persona)
            self._pasted_at = now
            return
        self._agent.truth.write("keys", text=item.text)
        self._composer.insert(item.text)
        if len(item.text) >= _BURST_CHARS:
            self._burst_at = now

    def _press(self, key: str, now: float) -> None:
        notice, self._notice = self._notice, ""
        if key == "Enter":
            self._enter(now)
        elif key == "Escape":
            self._escape(now, is_second=notice == _EDIT_NOTICE)
        elif key == "Ctrl-C":
            self._ctrl_c(now)
        elif key in ("Ctrl-J", "Alt-Enter"):
            self._composer.insert("\n")
        elif key == "Up" and self._queue and not self._composer.text:
            self._composer.set(self._queue.pop())
        else:
            self._composer.edit(key)

    def _enter(self, now: float) -> None:
        effect = enter_effect(
            self._composer.text,
            self._persona,
            since_paste_seconds=now - self._pasted_at,
            since_burst_seconds=now - self._burst_at,
        )
        if effect == "newline":
            if self._persona.backslash_breaks_line and self._composer.text.endswith("\\"):
                self._composer.edit("Backspace")
            self._composer.insert("\n")
        elif effect == "submit":
            text = self._composer.content()
            self._composer.set("")
            self._submit(text, now)

    def _escape(self, now: float, *, is_second: bool) -> None:
        if self._turn is not None:
            self._interrupt(self._turn, now)
        elif self._persona.escape_twice_edits and not self._composer.text:
            if is_second:
                self._composer.set(self._conversation.last_prompt())
            else:
                self._notice = _EDIT_NOTICE

    def _ctrl_c(self, now: float) -> None:
        if self._turn is not None:
            self._interrupt(self._turn, now)
        elif self._composer.text:
            self._composer.set("")
        elif self._persona.one_ctrl_c_exits or now - self._ctrl_c_at < _EXIT_SECONDS:
            self.stop(0)
        else:
            self._ctrl_c_at, self._notice = now, _EXIT_NOTICE

    def _handle_dialog(self, shown: Dialog, item: Input, now: float) -> None:
        text = item.name if isinstance(item, Pressed) else item.text
        self._agent.truth.write("keys", text=text, dialog=shown.kind)
        # A dialog ignores pastes.
        for key in () if isinstance(item, Pasted) else (text,) if isinstance(item, Pressed) else text:
            after = dialog.press(shown, key)
            if isinstance(after, Answer):
                self._dialog = None
                self._answer(shown, after, now)
                return
            self._dialog = shown = after

    def _answer(self, shown: Dialog, answer: Answer, now: float) -> None:
        self._agent.truth.write("dialog_answer", text=shown.kind, choice=answer.choice)
        if shown.kind != "trust":
            if self._turn is not None:
                self._turn.answer(answer.choice, now)
        elif answer.choice == 0:
            self._up_at = now + self._persona.splash_seconds
        else:
            self.stop(0)

    # --- submitting -----------------------------------------------------------------------

    def _submit(self, text: str, now: float) -> None:
        submission = parse_submission(text, self._persona)
        if self._turn is not None:
            self._submit_while_busy(self._turn, text, submission)
        elif isinstance(submission, Prompt):
            self._page.prompt(submission.text)
            self._begin(submission.text, self._actions(submission.text), now)
            self._conversation.record_prompt(submission.text)
        elif isinstance(submission, Shell):
            self._agent.truth.write("shell", text=submission.command)
            self._begin(None, iter((UseTool(submission.command),)), now)
        elif isinstance(submission, Command):
            self._command(submission.name)
        else:
            self._refuse(submission)

    def _submit_while_busy(self, turn: ScriptedTurn, text: str, submission: object) -> None:
        if self._persona.busy_enter == "steer" and isinstance(submission, Prompt):
            self._page.prompt(submission.text)
            turn.join(self._actions(submission.text))
            self._conversation.record_prompt(submission.text, steers=True)
        elif len(self._queue) < _MAX_QUEUED:
            self._agent.truth.write("queued", text=text)
            self._queue.append(text)
        else:
            self._composer.set(text)
            self._notice = f"  {_MAX_QUEUED} messages are waiting already"

    def _actions(self, prompt: str) -> Iterator[Action]:
        return plan_actions(prompt, self._conversation.script_context())

    def _begin(self, prompt: str | None, plan: Iterator[Action], now: float) -> None:
        self._turn = ScriptedTurn(prompt, plan, self, now=now)

    def _command(self, name: str) -> None:
        self._agent.truth.write("command", text=name)
        if name in ("exit", "quit"):
            self.stop(0)
        elif name == "compact":
            self._page.note("✻ Conversation compacted\n")
        else:
            self._conversation.restart()
            self._page.restart(f"/{name}")

    def _refuse(self, submission: UnknownCommand) -> None:
        word = submission.text.split(maxsplit=1)[0]
        self._agent.truth.write("unknown_command", text=submission.text)
        self._page.note(f"Unknown command: {word}\n")
        if self._persona.unknown_command == "stays":
            # The cursor is at the start, so the next paste merges with this text.
            self._composer.set(submission.text, cursor=0)

    # --- ending a turn --------------------------------------------------------------------

    def _interrupt(self, turn: ScriptedTurn, now: float) -> None:
        self._conversation.record_interrupt()
        if not self._persona.interrupt_withdraws or turn.prompt is None or turn.answer_text:
            turn.outcome = "refused"
            self._finish(turn, now)
            return
        self._close(turn)
        self._page.end()
        self._conversation.record_withdrawal()
        if not self._queue:
            self._composer.set(turn.prompt)
        self._next_queued(now)

    def _finish(self, turn: ScriptedTurn, now: float) -> None:
        self._close(turn)
        appearance, seconds = self._persona.appearance, int(now - turn.started_at)
        if turn.outcome == "refused":
            self._page.end(f"{appearance.interrupted}\n")
        elif turn.outcome == "error":
            self._page.end(appearance.error.format(text=turn.answer_text) + "\n", style=_YELLOW)
        else:
            text = f"\n{appearance.done.format(seconds=seconds)}\n" if appearance.done else ""
            self._page.end(text, style=_DIM)
        if turn.prompt is not None:
            outcome = "interrupted" if turn.outcome == "refused" else turn.outcome
            self._conversation.record_outcome(outcome or "error", turn.answer_text)
        self._next_queued(now)

    def _close(self, turn: ScriptedTurn) -> None:
        turn.close()
        self._turn = self._dialog = None

    def _next_queued(self, now: float) -> None:
        if self._queue:
            self._submit(self._queue.pop(0), now)

    # --- host of the running turn (`TurnHost`) ---------------------------------------------

    def say(self, text: str) -> None:
        self._page.say(text)

    def note(self, text: str) -> None:
        self._page.note(text)

    def show_tool(self, command: str) -> None:
        self._page.tool(command)

    def show_tool_output(self, output: str) -> None:
        self._page.tool_output(output)

    def ask(self, question: Dialog) -> None:
        self._dialog = question
        self._conversation.record_dialog(question.kind)

    def crash(self, order: Crash) -> None:
        self._agent.truth.write("crash", text=str(order.how))
        effects.crash(order)

    def spawn(self, seconds: float) -> None:
        self._agent.truth.write("spawn", child_pid=effects.spawn(seconds))

    def ignore_signals(self) -> None:
        self._agent.signals.ignore()

    # --- the rest -------------------------------------------------------------------------

    def _is_trusted(self) -> bool:
        trusted = self._agent.settings.get("trusted")
        return isinstance(trusted, list) and str(self._agent.working_directory) in trusted

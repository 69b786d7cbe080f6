"""One headless turn: reads a prompt, writes Claude's event stream."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from posthouse import __version__
from posthouse.tools.scripted import effects, stream
from posthouse.tools.scripted.agent import AgentRun, NoConversation
from posthouse.tools.scripted.conversation import Conversation, Outcome
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
from posthouse.tools.scripted.script import Action, plan_actions
from posthouse.tools.scripted.stream import HeadlessResult

_MAX_PROMPT_BYTES = 16 * 1024 * 1024
_POLL_SECONDS = 0.02
_RETRY_SECONDS = 0.05
_ABORTED = HeadlessResult(
    subtype="error_during_execution",
    is_error=True,
    terminal_reason="aborted_streaming",
    errors=("[Request interrupted by user]",),
)


class _Interrupted(Exception):
    """SIGINT received: report it and end normally."""


class _Terminated(Exception):
    """SIGTERM or SIGHUP received: exit without output."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run(agent: AgentRun) -> int:
    """Run the prompt of this process; returns the exit code."""
    prompt = agent.arguments.prompt
    if prompt is None:
        prompt = sys.stdin.buffer.read(_MAX_PROMPT_BYTES).decode(errors="replace")
    if not prompt.strip():
        sys.stderr.write("Error: Input must be provided either through stdin or as a prompt argument\n")
        return 1
    try:
        conversation = Conversation(agent, agent.conversation(), _run_now)
    except NoConversation as error:
        return _refuse(agent, str(error))
    return _Turn(agent, conversation, prompt).run()


def _run_now(_seconds: float, action: Callable[[], None]) -> None:
    """Headless turns have no lag: the process ends with the turn."""
    action()


def _refuse(agent: AgentRun, reason: str) -> int:
    ending = HeadlessResult(subtype="error_during_execution", is_error=True, errors=(reason,), exit_code=1)
    record = stream.result(ending, answer="", prompt="", duration_ms=0, denials=())
    _write(agent, record | {"session_id": agent.arguments.resume, "num_turns": 0})
    sys.stderr.write(reason + "\n")
    return ending.exit_code


def _write(agent: AgentRun, record: Mapping[str, Any]) -> None:
    """Print *record* in the chosen output format. One write per line."""
    form = agent.arguments.output_format
    if form != "stream-json" and record["type"] != "result":
        return
    text = json.dumps(record, ensure_ascii=False)
    if form == "text":
        text = str(record.get("result") or "\n".join(record.get("errors", ())))
    os.write(sys.stdout.fileno(), (text + "\n").encode(errors="replace"))


class _Turn:
    """The turn in progress: its answer so far, and its result."""

    def __init__(self, agent: AgentRun, conversation: Conversation, prompt: str) -> None:
        self._agent = agent
        self._conversation = conversation
        self._prompt = prompt
        self._answer = ""
        self._ending = HeadlessResult()
        self._denials: list[Mapping[str, Any]] = []
        self._started = time.monotonic()
        self._handlers: dict[type, Callable[[Any], None]] = {
            Say: self._say,
            Think: self._think,
            Wait: lambda action: self._pause(action.seconds),
            UseTool: self._use_tool,
            Ask: self._ask,
            Fail: self._fail,
            Retry: self._retry,
            Crash: self._crash,
            IgnoreSignals: lambda _: self._agent.signals.ignore(),
            Spawn: self._spawn,
            WriteStderr: self._write_stderr,
        }

    def run(self) -> int:
        plan = plan_actions(self._prompt, self._conversation.script_context())
        self._begin()
        try:
            for action in plan:
                self._perform(action)
            self._handle_signals()
        except _Interrupted:
            self._emit(stream.user({"type": "text", "text": "[Request interrupted by user]"}))
            self._ending = _ABORTED
        except _Terminated as terminated:
            self._agent.truth.write("exit", code=128 + terminated.number)
            return 128 + terminated.number
        return self._end()

    def _begin(self) -> None:
        agent, arguments = self._agent, self._agent.arguments
        self._conversation.record_prompt(self._prompt)
        mode = "bypassPermissions" if arguments.allows_everything else "default"
        folder = str(agent.working_directory)
        self._emit(stream.init(self._conversation.session_id, agent.model, folder, __version__, mode))

    def _end(self) -> int:
        ending, answer = self._ending, self._answer
        outcome: Outcome = "error" if ending.is_error else "success"
        if ending is _ABORTED:
            outcome = "interrupted"
        self._conversation.record_outcome(outcome, answer)
        elapsed = int((time.monotonic() - self._started) * 1000)
        self._emit(
            stream.result(
                ending, answer=answer, prompt=self._prompt, duration_ms=elapsed, denials=self._denials
            )
        )
        self._agent.hooks.finish()
        self._agent.truth.write("exit", code=ending.exit_code)
        return ending.exit_code

    def _perform(self, action: Action) -> None:
        self._handle_signals()
        self._handlers[type(action)](action)

    def _say(self, action: Say) -> None:
        self._answer += action.text
        self._emit(stream.assistant(self._agent.model, {"type": "text", "text": action.text.strip()}))

    def _think(self, action: Think) -> None:
        block = {"type": "thinking", "thinking": action.text, "signature": "scripted"}
        self._emit(stream.assistant(self._agent.model, block))

    def _use_tool(self, action: UseTool) -> None:
        action_id, arguments = self._request("Bash", {"command": action.command})
        if action.needs_permission:
            self._deny("Bash", action_id, arguments, f"permission to run {action.command!r} was not given")
            return
        command = effects.Command(action.command)
        try:
            while command.exit_code() is None:
                self._pause(_POLL_SECONDS)
            output, failed = command.output(), command.exit_code() != 0
        finally:
            command.close()
        self._emit(stream.user(stream.tool_result(action_id, output, is_error=failed)))

    def _ask(self, action: Ask) -> None:
        """No user is present: as the real CLI, record a denial and print the question."""
        asked = {"question": action.question, "options": list(action.choices)}
        action_id, arguments = self._request("AskUserQuestion", asked)
        self._deny("AskUserQuestion", action_id, arguments, "nobody is there to answer")
        self._say(Say(f"{action.question} ({' / '.join(action.choices)})"))

    def _request(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        action_id = f"toolu_{os.urandom(8).hex()}"
        block = stream.tool_use(action_id, name, arguments)
        self._emit(stream.assistant(self._agent.model, block))
        return action_id, arguments

    def _deny(self, name: str, action_id: str, arguments: Mapping[str, Any], reason: str) -> None:
        self._denials.append({"tool_name": name, "tool_use_id": action_id, "tool_input": arguments})
        self._emit(stream.user(stream.tool_result(action_id, reason, is_error=True)))

    def _fail(self, action: Fail) -> None:
        text, status, reason = stream.FAILURES[action.kind]
        if action.kind == "overloaded":
            self._retry(Retry(2))
        self._answer = text
        block = {"type": "text", "text": text}
        self._emit(stream.assistant("<synthetic>", block, error=reason))
        self._ending = HeadlessResult(
            is_error=True, api_error_status=status, terminal_reason=reason, exit_code=1
        )

    def _retry(self, action: Retry) -> None:
        for attempt in range(1, action.attempts + 1):
            self._emit(stream.retry(attempt, action.attempts, int(_RETRY_SECONDS * 1000)))
            self._pause(_RETRY_SECONDS)

    def _write_stderr(self, action: WriteStderr) -> None:
        sys.stderr.write(action.text + "\n")

    def _crash(self, action: Crash) -> None:
        self._agent.truth.write("crash", text=str(action.how))
        effects.crash(action)

    def _spawn(self, action: Spawn) -> None:
        self._agent.truth.write("spawn", child_pid=effects.spawn(action.seconds))

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._agent.signals.wait(left)
            self._handle_signals()

    def _handle_signals(self) -> None:
        for number in self._agent.signals.drain():
            if number == signal.SIGINT:
                self._conversation.record_interrupt()
                raise _Interrupted
            if number in (signal.SIGTERM, signal.SIGHUP):
                raise _Terminated(number)

    def _emit(self, record: Mapping[str, Any]) -> None:
        _write(self._agent, {**record, "session_id": self._conversation.session_id})

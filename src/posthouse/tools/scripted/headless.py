"""One headless turn: a prompt in, Claude's event stream out."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from posthouse import __version__
from posthouse.tools.scripted import effects, stream
from posthouse.tools.scripted.agent import Agent, NoConversation
from posthouse.tools.scripted.conversation import Conversation, Outcome
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
from posthouse.tools.scripted.script import Move, moves
from posthouse.tools.scripted.stream import Ending

_MAX_PROMPT_BYTES = 16 * 1024 * 1024
_POLL_SECONDS = 0.02
_RETRY_SECONDS = 0.05
_ABORTED = Ending(
    subtype="error_during_execution",
    is_error=True,
    terminal_reason="aborted_streaming",
    errors=("[Request interrupted by user]",),
)


class _Interrupted(Exception):
    """SIGINT came: say so and end in good order."""


class _Terminated(Exception):
    """SIGTERM or SIGHUP came: end without a word."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run(agent: Agent) -> int:
    """Carry out the one prompt of this process; returns the exit code."""
    prompt = agent.arguments.prompt
    if prompt is None:
        prompt = sys.stdin.buffer.read(_MAX_PROMPT_BYTES).decode(errors="replace")
    if not prompt.strip():
        sys.stderr.write("Error: Input must be provided either through stdin or as a prompt argument\n")
        return 1
    try:
        conversation = Conversation(agent, agent.conversation(), _at_once)
    except NoConversation as error:
        return _refuse(agent, str(error))
    return _Turn(agent, conversation, prompt).run()


def _at_once(_seconds: float, action: Callable[[], None]) -> None:
    """A headless turn ends too soon to lag behind it."""
    action()


def _refuse(agent: Agent, why: str) -> int:
    ending = Ending(subtype="error_during_execution", is_error=True, errors=(why,), exit_code=1)
    record = stream.result(ending, answer="", prompt="", duration_ms=0, denials=())
    _write(agent, record | {"session_id": agent.arguments.resume, "num_turns": 0})
    sys.stderr.write(why + "\n")
    return ending.exit_code


def _write(agent: Agent, record: Mapping[str, Any]) -> None:
    """Print *record* as far as the chosen output format shows it. One write per line."""
    form = agent.arguments.output_format
    if form != "stream-json" and record["type"] != "result":
        return
    text = json.dumps(record, ensure_ascii=False)
    if form == "text":
        text = str(record.get("result") or "\n".join(record.get("errors", ())))
    os.write(sys.stdout.fileno(), (text + "\n").encode(errors="replace"))


class _Turn:
    """The turn in progress: what has been said so far, and how it will end."""

    def __init__(self, agent: Agent, conversation: Conversation, prompt: str) -> None:
        self._agent = agent
        self._conversation = conversation
        self._prompt = prompt
        self._answer = ""
        self._ending = Ending()
        self._denials: list[Mapping[str, Any]] = []
        self._started = time.monotonic()
        self._handlers: dict[type, Callable[[Any], None]] = {
            Say: self._say,
            Think: self._think,
            Wait: lambda move: self._pause(move.seconds),
            UseTool: self._use_tool,
            Ask: self._ask,
            Fail: self._fail,
            Retry: self._retry,
            Crash: self._crash,
            IgnoreSignals: lambda _: self._agent.signals.ignore(),
            Spawn: self._spawn,
            Complain: self._complain,
        }

    def run(self) -> int:
        plan = moves(self._prompt, self._conversation.knowledge())
        self._begin()
        try:
            for move in plan:
                self._make(move)
            self._obey_signals()
        except _Interrupted:
            self._emit(stream.user({"type": "text", "text": "[Request interrupted by user]"}))
            self._ending = _ABORTED
        except _Terminated as ended:
            self._agent.truth.write("exit", code=128 + ended.number)
            return 128 + ended.number
        return self._end()

    def _begin(self) -> None:
        agent, arguments = self._agent, self._agent.arguments
        self._conversation.took(self._prompt)
        mode = "bypassPermissions" if arguments.allows_everything else "default"
        where = str(agent.working_directory)
        self._emit(stream.init(self._conversation.session_id, agent.model, where, __version__, mode))

    def _end(self) -> int:
        ending, answer = self._ending, self._answer
        outcome: Outcome = "error" if ending.is_error else "success"
        if ending is _ABORTED:
            outcome = "interrupted"
        self._conversation.ended(outcome, answer)
        elapsed = int((time.monotonic() - self._started) * 1000)
        self._emit(
            stream.result(
                ending, answer=answer, prompt=self._prompt, duration_ms=elapsed, denials=self._denials
            )
        )
        self._agent.hooks.finish()
        self._agent.truth.write("exit", code=ending.exit_code)
        return ending.exit_code

    def _make(self, move: Move) -> None:
        self._obey_signals()
        self._handlers[type(move)](move)

    def _say(self, move: Say) -> None:
        self._answer += move.text
        self._emit(stream.assistant(self._agent.model, {"type": "text", "text": move.text.strip()}))

    def _think(self, move: Think) -> None:
        block = {"type": "thinking", "thinking": move.text, "signature": "scripted"}
        self._emit(stream.assistant(self._agent.model, block))

    def _use_tool(self, move: UseTool) -> None:
        action_id, arguments = self._request("Bash", {"command": move.command})
        if move.needs_permission:
            self._deny("Bash", action_id, arguments, f"permission to run {move.command!r} was not given")
            return
        command = effects.Command(move.command)
        try:
            while command.exit_code() is None:
                self._pause(_POLL_SECONDS)
            output, failed = command.output(), command.exit_code() != 0
        finally:
            command.close()
        self._emit(stream.user(stream.tool_result(action_id, output, is_error=failed)))

    def _ask(self, move: Ask) -> None:
        """Nobody is there to answer: as the real CLI, note the refusal and leave the question."""
        asked = {"question": move.question, "options": list(move.choices)}
        action_id, arguments = self._request("AskUserQuestion", asked)
        self._deny("AskUserQuestion", action_id, arguments, "nobody is there to answer")
        self._say(Say(f"{move.question} ({' / '.join(move.choices)})"))

    def _request(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        action_id = f"toolu_{os.urandom(8).hex()}"
        block = stream.tool_use(action_id, name, arguments)
        self._emit(stream.assistant(self._agent.model, block))
        return action_id, arguments

    def _deny(self, name: str, action_id: str, arguments: Mapping[str, Any], why: str) -> None:
        self._denials.append({"tool_name": name, "tool_use_id": action_id, "tool_input": arguments})
        self._emit(stream.user(stream.tool_result(action_id, why, is_error=True)))

    def _fail(self, move: Fail) -> None:
        text, status, reason = stream.FAILURES[move.kind]
        if move.kind == "overloaded":
            self._retry(Retry(2))
        self._answer = text
        block = {"type": "text", "text": text}
        self._emit(stream.assistant("<synthetic>", block, error=reason))
        self._ending = Ending(is_error=True, api_error_status=status, terminal_reason=reason, exit_code=1)

    def _retry(self, move: Retry) -> None:
        for attempt in range(1, move.attempts + 1):
            self._emit(stream.retry(attempt, move.attempts, int(_RETRY_SECONDS * 1000)))
            self._pause(_RETRY_SECONDS)

    def _complain(self, move: Complain) -> None:
        sys.stderr.write(move.text + "\n")

    def _crash(self, move: Crash) -> None:
        self._agent.truth.write("crash", text=str(move.how))
        effects.crash(move)

    def _spawn(self, move: Spawn) -> None:
        self._agent.truth.write("spawn", child_pid=effects.spawn(move.seconds))

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._agent.signals.wait(left)
            self._obey_signals()

    def _obey_signals(self) -> None:
        for number in self._agent.signals.take():
            if number == signal.SIGINT:
                self._conversation.interrupted()
                raise _Interrupted
            if number in (signal.SIGTERM, signal.SIGHUP):
                raise _Terminated(number)

    def _emit(self, record: Mapping[str, Any]) -> None:
        _write(self._agent, {**record, "session_id": self._conversation.session_id})

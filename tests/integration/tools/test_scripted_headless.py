"""The scripted agent's headless turns, as processes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from posthouse.support import processes
from posthouse.testing.truth import TruthLog
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.tools.scripted.profile import TOOL
from posthouse.tools.tool import Chat, HeadlessTurn, Launch

NEW = Chat()


class Headless:
    """Starts turns of one agent and reads what they left."""

    def __init__(self, home: Path, working_directory: Path) -> None:
        self._launch = Launch(
            home=home, working_directory=working_directory, role_name="r", role_text="Be kind."
        )
        self._home = home
        self.truth = TruthLog(home / "truth.jsonl")

    def turn(self, prompt: str, chat: Chat = NEW, **environment: str) -> "Finished":
        """Run one turn to its end."""
        with self.running(prompt, chat, **environment) as process:
            return _finish(process)

    @contextmanager
    def running(self, prompt: str, chat: Chat = NEW, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """A turn in progress, in a process group of its own that ends with the block."""
        program = TOOL.turn_program(self._launch, HeadlessTurn(prompt=prompt, chat=chat))
        process = subprocess.Popen(
            program.argv,
            cwd=self._launch.working_directory,
            env={"PATH": os.environ["PATH"], **program.environment, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(program.stdin or "")
        process.stdin.close()
        process.stdin = None
        try:
            yield process
        finally:
            processes.signal_all(processes.group(process.pid), signal.SIGKILL)
            process.communicate(timeout=LIMIT_SECONDS)

    def settings(self, value: Mapping[str, Any]) -> None:
        (self._home / "settings.json").write_text(json.dumps(value))


class Finished:
    """What one turn wrote, and how it ended."""

    def __init__(self, code: int, stdout: str, stderr: str) -> None:
        self.code = code
        self.stderr = stderr
        self.records: list[dict[str, Any]] = [json.loads(line) for line in stdout.splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        return self.records[-1]

    @property
    def session_id(self) -> str:
        return str(self.records[0]["session_id"])

    def kinds(self) -> list[str]:
        return [f"{record['type']}/{record.get('subtype', '')}".rstrip("/") for record in self.records]


def _finish(process: subprocess.Popen[str]) -> Finished:
    stdout, stderr = process.communicate(timeout=LIMIT_SECONDS)
    return Finished(process.returncode, stdout, stderr)


@pytest.fixture
def agent(tmp_path: Path) -> Headless:
    home, where = tmp_path / "home", tmp_path / "proj"
    home.mkdir()
    where.mkdir()
    return Headless(home, where)


def test_a_turn_is_claudes_stream(agent: Headless) -> None:
    """Start, blocks, tool call with its result, and a result with usage and cost."""
    done = agent.turn("[[think hm]] [[tool echo hi]] [[say hello]] [[stderr oh]]")

    assert (done.code, done.stderr) == (0, "oh\n")
    assert done.kinds() == ["system/init", "assistant", "assistant", "user", "assistant", "result/success"]
    assert {record["session_id"] for record in done.records} == {done.session_id}
    assert done.records[3]["message"]["content"][0]["content"] == "hi"
    kept = ("is_error", "result", "num_turns", "permission_denials", "terminal_reason")
    assert {key: done.result[key] for key in kept} == {
        "is_error": False,
        "result": "hello",
        "num_turns": 1,
        "permission_denials": [],
        "terminal_reason": "completed",
    }
    assert done.result["usage"]["output_tokens"] == 1
    assert agent.truth.answers() == ["hello"]


def test_the_prompt_arrives_byte_for_byte(agent: Headless) -> None:
    """Stdin carries anything, of any size."""
    prompt = "ünï\n\t'\"\\$(x) e\u0301 " * 8000

    agent.turn(prompt)
    assert agent.truth.prompts() == [prompt]


def test_a_resumed_conversation_keeps_its_id_and_remembers(agent: Headless) -> None:
    """By id or as the latest one; the role is remembered too."""
    first = agent.turn("hello")
    by_id = agent.turn("[[recall]]", Chat(mode="exact", id=first.session_id))
    latest = agent.turn("[[role]]", Chat(mode="latest"))
    fresh = agent.turn("[[recall]]")

    assert by_id.session_id == latest.session_id == first.session_id
    assert by_id.result["result"] == "I remember:\n1. hello"
    assert latest.result["result"] == "Be kind."
    assert fresh.result["result"] == "I remember nothing."


def test_resuming_an_unknown_id_fails_as_claude_does(agent: Headless) -> None:
    """Exit code 1, the reason in the stream and on stderr, and nothing was asked of the agent."""
    done = agent.turn("hello", Chat(mode="exact", id="00000000-0000-4000-a000-000000000000"))

    message = "No conversation found with session ID: 00000000-0000-4000-a000-000000000000"
    assert (done.code, done.stderr) == (1, message + "\n")
    assert (done.result["subtype"], done.result["errors"]) == ("error_during_execution", [message])
    assert agent.truth.prompts() == []


@pytest.mark.parametrize(
    ("kind", "text", "status", "reason"),
    [
        ("400", "API Error: 400 scripted bad request", 400, "api_error"),
        ("overloaded", "API Error: 529 Overloaded", 529, "api_error"),
        ("context", "Prompt is too long", 400, "prompt_too_long"),
    ],
)
def test_a_failure_of_the_api_calls_itself_a_success(
    agent: Headless, kind: str, text: str, status: int, reason: str
) -> None:
    """Only `is_error` tells, as with the real CLI."""
    done = agent.turn(f"[[fail {kind}]]")

    kept = ("subtype", "is_error", "result", "api_error_status", "terminal_reason")
    assert done.code == 1
    assert [done.result[key] for key in kept] == ["success", True, text, status, reason]


def test_permission_that_nobody_gives_is_a_denial_and_no_failure(agent: Headless, tmp_path: Path) -> None:
    """The command is not run, and the turn still ends well."""
    done = agent.turn("[[permission touch made]] [[say went on]]")

    assert (done.code, done.result["result"]) == (0, "went on")
    assert [denied["tool_input"] for denied in done.result["permission_denials"]] == [
        {"command": "touch made"}
    ]
    assert not (tmp_path / "proj" / "made").exists()


def test_sigint_ends_in_good_order(agent: Headless) -> None:
    """Exit code 0 and a last result that says it was aborted; no hook after it."""
    agent.settings({"hooks": {"Stop": "true"}})
    with agent.running("[[say begun]] [[wait 60]]") as process:
        agent.truth.wait(lambda log: bool(log.prompts()))
        process.send_signal(signal.SIGINT)
        done = _finish(process)

    assert done.code == 0
    assert (done.result["subtype"], done.result["terminal_reason"]) == (
        "error_during_execution",
        "aborted_streaming",
    )
    assert [event["outcome"] for event in agent.truth.events("answer")] == ["interrupted"]
    assert agent.truth.events("hook") == []


def test_sigterm_ends_without_a_word(agent: Headless) -> None:
    """Exit code 143 and no result."""
    with agent.running("[[wait 60]]") as process:
        agent.truth.wait(lambda log: bool(log.prompts()))
        process.terminate()
        done = _finish(process)

    assert done.code == 143
    assert "result/success" not in done.kinds()


def test_a_deaf_agent_hears_only_sigkill(agent: Headless) -> None:
    """Signals are noted and not obeyed."""
    with agent.running("[[ignore signals]] [[say nothing reaches me]] [[wait 60]]") as process:
        assert process.stdout is not None
        while "nothing reaches me" not in process.stdout.readline():  # the folder is named after the test
            pass
        process.send_signal(signal.SIGINT)
        process.terminate()
        agent.truth.wait(lambda log: len(log.events("signal")) == 2)
        assert process.poll() is None
        process.kill()
        assert process.wait(LIMIT_SECONDS) == -signal.SIGKILL


@pytest.mark.parametrize(("how", "code"), [("", -9), ("3", 3), ("TERM", -15)])
def test_a_crash_leaves_no_result(agent: Headless, how: str, code: int) -> None:
    """The agent can die in any way at any point."""
    done = agent.turn(f"[[say last words]] [[crash {how}]]")

    assert done.code == code
    assert done.kinds() == ["system/init", "assistant"]


def test_a_process_left_behind_is_in_the_agents_group(agent: Headless) -> None:
    """Ending the group ends it too."""
    with agent.running("[[spawn 60]] [[wait 60]]") as process:
        agent.truth.wait(lambda log: bool(log.events("spawn")))
        [spawned] = agent.truth.events("spawn")
        members = {member.pid for member in processes.group(process.pid)}

        assert {process.pid, spawned["child_pid"]} <= members


def test_hooks_run_with_the_session_and_the_transcript(agent: Headless, tmp_path: Path) -> None:
    """A hook knows which conversation it is about, and is done when the turn is."""
    out = tmp_path / "hooks.jsonl"
    agent.settings(
        {"hooks": dict.fromkeys(["UserPromptSubmit", "Stop", "StopFailure"], f"cat >> {out}; echo >> {out}")}
    )

    done = agent.turn("hello [[say bye]]")
    agent.turn("[[fail 400]]")

    events = [json.loads(line) for line in out.read_text().splitlines()]
    ended = next(event for event in events if event["hook_event_name"] == "Stop")
    assert [event["hook_event_name"] for event in events] == [
        *("UserPromptSubmit", "Stop", "UserPromptSubmit", "StopFailure"),
    ]
    assert (ended["session_id"], ended["last_assistant_message"]) == (done.session_id, "bye")
    assert Path(ended["transcript_path"]).is_file()


def test_a_secret_can_be_proved_without_being_told(agent: Headless) -> None:
    """The answer has the start of its hash, never the value."""
    done = agent.turn("[[secret KEY]] [[env COLOUR]]", KEY="secret", COLOUR="red")

    assert done.result["result"] == "KEY is set, sha256 2bb80d537b1d\nCOLOUR=red"


def test_a_bad_command_line_or_an_empty_prompt_says_so(agent: Headless) -> None:
    """Nothing is started on a guess."""
    done = agent.turn("  ")

    assert (done.code, done.records) == (1, [])
    assert done.stderr == "Error: Input must be provided either through stdin or as a prompt argument\n"


def test_the_program_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    """It starts isolated and without site-packages, and loads nothing from there."""
    program = TOOL.turn_program(
        Launch(home=tmp_path, working_directory=tmp_path, role_name="r"), HeadlessTurn(prompt="[[say hi]]")
    )
    check = (
        "import runpy, sys; sys.argv = sys.argv[1:]\n"
        "try:\n    runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "finally:\n    assert not [n for n, m in sys.modules.items()"
        " if 'site-packages' in (getattr(m, '__file__', None) or '')]"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", check, *program.argv[3:]],
        input=program.stdin,
        env=dict(program.environment),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")

"""What a TUI is doing, asks and waits for, through the command line."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from posthouse.clients.gateway import GatewayClient
from posthouse.testing.waiting import LIMIT_SECONDS

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands

_LOOK_SECONDS = 0.05


class Agent:
    """A ready scripted TUI called `one`, with its gateway."""

    def __init__(self, posthouse: "Commands") -> None:
        self.posthouse = posthouse
        made = posthouse.json("agents", "launch", "--tool", "scripted", "--name", "one")
        self.root = Path(made["session_root"])
        self._client = GatewayClient(**made["gateway"])
        self.until(lambda belief: belief["state"] == "ready")

    def until(self, is_so: Callable[[Any], bool]) -> Any:
        """The belief once it is so."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not is_so(belief := self._client.tui_belief()):
            assert time.monotonic() < deadline, belief
            time.sleep(_LOOK_SECONDS)
        return belief

    def asked(self, prompt: str) -> Any:
        """The belief once *prompt* has opened a dialog."""
        self.posthouse.ok("agents", "prompt", "one", prompt)
        return self.until(lambda belief: belief["state"] == "blocked" and belief["dialog"]["choices"])

    def succeeded(self) -> None:
        self.until(lambda belief: (belief["state"], belief["outcome"]) == ("ready", "success"))

    def report(self, event: str, number: int) -> None:
        """Report as a hook does."""
        whole = self.root / "hooks" / f".{event}-{number}"
        whole.write_text("{}")
        whole.rename(whole.with_name(f"{event}.{number}.json"))


@pytest.fixture
def agent(posthouse: "Commands") -> Agent:
    return Agent(posthouse)


def test_a_question_is_shown_answered_and_from_then_on_answered_by_rule(agent: Agent) -> None:
    """Nothing is answered by itself before `--always`, nor after `--forget`."""
    posthouse, answer = agent.posthouse, ("agents", "answer", "one")
    quiet = posthouse.ok(*answer)
    nothing = posthouse.run(*answer, "1")
    agent.asked("choose [[ask Which? | red | blue]]")
    shown = posthouse.ok(*answer)
    wrong = posthouse.run(*answer, "green")
    other = posthouse.run(*answer, "--dialog", "trust", "1")
    chosen = posthouse.json(*answer, "2")
    agent.succeeded()
    agent.asked("work [[permission echo allowed]]")
    always = posthouse.ok(*answer, "--always", "--dialog", "permission", "yes")
    agent.succeeded()
    rules = posthouse.ok(*answer, "--rules")
    by_rule = posthouse.ok("agents", "prompt", "one", "--wait", "again [[permission echo ruled]] [[say so]]")
    forgotten = posthouse.json(*answer, "--forget", "permission")
    unknown = posthouse.run(*answer, "--forget", "permission")
    agent.asked("once more [[permission echo asked]]")
    listed = posthouse.ok("agents", "list")

    assert quiet == "no dialog is open; the agent is ready\n"
    assert (nothing.returncode, "no dialog is open" in nothing.stderr) == (1, True)
    assert shown == "blocked: question\n> 1. red\n  2. blue\n"
    assert (wrong.returncode, "1. red; 2. blue" in wrong.stderr) == (1, True)
    assert (other.returncode, "the open dialog is 'question'" in other.stderr) == (1, True)
    assert (chosen["dialog"], chosen["outcome"], chosen["choice"]) == (
        "question",
        "answered",
        {"number": 2, "label": "blue", "selected": False},
    )
    assert always.startswith("answered permission: Yes (the agent is ")
    assert always.endswith("; kept as a rule\n")
    assert rules == "permission: Yes\n"
    assert by_rule.endswith("so\n")
    assert forgotten["rules"] == []
    assert (unknown.returncode, "no rule answers 'permission'" in unknown.stderr) == (2, True)
    assert "blocked: permission" in listed


def test_a_queue_that_a_limit_holds_goes_on_when_the_user_says_so(agent: Agent) -> None:
    """What waits is carried out then; where nothing is held, `resume` says so."""
    posthouse = agent.posthouse
    early = posthouse.run("agents", "resume", "one")
    posthouse.ok("agents", "prompt", "one", "too much [[fail limit 3600]]")
    agent.until(lambda belief: belief["state"] == "limited")
    request = posthouse.ok("agents", "prompt", "one", "after it [[say done]]").strip()
    held = posthouse.json("agents", "requests", "show", "one", request)["state"]
    resumed = posthouse.ok("agents", "resume", "one")
    done = posthouse.json("agents", "requests", "wait", "one", request)["state"]
    (events,) = posthouse.folder.rglob("events.jsonl")

    kinds = [json.loads(line)["kind"] for line in events.read_text().splitlines()]
    assert (early.returncode, "nothing to resume" in early.stderr) == (1, True)
    assert (held, resumed, done) == ("accepted", "the queue is resumed\n", "completed")
    assert [kind for kind in kinds if kind.startswith("limit")] == ["limited", "limit_over"]


def test_hooks_that_keep_contradicting_the_screen_are_told_to_the_doctor(agent: Agent) -> None:
    """The third contradiction raises the alarm; the belief names who contradicts whom."""
    posthouse = agent.posthouse
    posthouse.ok("agents", "prompt", "one", "long [[wait 600]]")
    at_work = {"hook": "submitted", "screen": "active"}
    agent.until(lambda belief: at_work.items() <= _says(belief).items())
    before = json.loads(posthouse.run("doctor", "--json").stdout)["drifting"]
    for number in (1, 2, 3):
        agent.report("Stop", number)
        belief = agent.until(lambda belief: belief["state"] == "unknown")
        text = posthouse.ok("agents", "gateway", "tui", "belief", "one")
        agent.report("UserPromptSubmit", number)
        agent.until(lambda belief: belief["state"] == "active")
    drifting = json.loads(posthouse.run("doctor", "--json").stdout)["drifting"]
    shown = posthouse.run("doctor").stdout

    words = "a hook reports the end of the turn, but the screen shows it running"
    assert before == []
    assert (belief["decided_by"], belief["disagreements"]) == (["hook", "screen"], 3)
    assert (_says(belief)["hook"], _says(belief)["screen"]) == ("ended", "active")
    assert text.split("\n")[0].split(maxsplit=1) == ["state", f"unknown ({words})"]
    assert drifting == [{"agent": "one", "tool": "scripted", "detail": words}]
    assert f"one: the screens of scripted may have changed: {words}; see `posthouse tui record`\n" in shown


def test_a_cli_that_no_pack_was_made_for_is_told_to_the_doctor(posthouse: "Commands") -> None:
    """It runs on the nearest pack, and a person can know it."""
    program = posthouse.folder / "versions" / "2.99.0"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (posthouse.folder / "bin").mkdir()
    (posthouse.folder / "bin" / "claude").symlink_to(program)
    path = f"{posthouse.folder / 'bin'}:{posthouse.environment['PATH']}"

    shown = posthouse.run("doctor", more={"PATH": path}).stdout

    assert "claude: pack claude 2.1 is the nearest to 2.99.0, which has no pack\n" in shown


def _says(belief: Any) -> dict[str, str]:
    return {one["source"]: one["says"] for one in belief["evidence"]}

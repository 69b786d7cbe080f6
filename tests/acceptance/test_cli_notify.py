"""`agents notify`: from the command line to a command that was told."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from posthouse.contracts import notification_files as tf
from posthouse.gateway.notifications.targets import TargetFiles
from posthouse.testing.waiting import LIMIT_SECONDS

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands


def test_a_command_is_told_when_a_prompt_is_finished(posthouse: "Commands") -> None:
    """Added while the gateway runs, tried, told for real, listed with its outcome, removed."""
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "one", "--headless")
    told = posthouse.workdir / "told.json"
    add = ("agents", "notify", "add", "one", "--on", "finished,failed", "--json")
    made = json.loads(posthouse.ok(*add, "--", "sh", "-c", 'cat > "$0.new" && mv "$0.new" "$0"', str(told)))
    tried = posthouse.json("agents", "notify", "test", "one", made["target_id"])
    trial = json.loads(told.read_text())
    posthouse.ok("agents", "prompt", "one", "--wait", "[[say hi]]")
    notice = _until_told(told)
    listed = posthouse.json("agents", "notify", "list", "one")["targets"]
    posthouse.ok("agents", "single", "--agent-name", "one", "notify", "remove", made["target_id"])

    assert (tried["status"], trial["event"]) == ("delivered", {"kind": "test"})
    assert (notice["occasion"], notice["event"]["stage"]) == ("finished", "completed")
    assert "say hi" not in json.dumps(notice)
    assert [(one["target_id"], one["kind"]) for one in listed] == [(made["target_id"], "command")]
    assert posthouse.json("agents", "notify", "list", "one") == {"targets": []}


def _until_told(path: Path) -> Any:
    """The notice of something that happened."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while (notice := json.loads(path.read_text()))["event"]["kind"] == "test":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return notice


@pytest.mark.ordinary_user
def test_a_secret_is_kept_and_never_shown(posthouse: "Commands") -> None:
    """Only where it lies is told."""
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "one", "--headless")
    add = ("agents", "notify", "add", "one", "--on", "all", "--webhook", "http://127.0.0.1:9/")
    made = posthouse.json(*add)
    secret = Path(made["secret_file"]).read_text().strip()
    failed = posthouse.run("agents", "notify", "test", "one", made["target_id"])
    listed = posthouse.ok("agents", "notify", "list", "one") + posthouse.ok(
        "agents", "notify", "list", "one", "--json"
    )
    wrong = posthouse.run("agents", "notify", "add", "one", "--on", "sometimes", "--webhook", "http://x/")

    assert secret.startswith("whsec_")
    assert secret not in json.dumps(made) + listed + failed.stdout + failed.stderr
    assert (failed.returncode, "could not be notified: not reached" in failed.stderr) == (1, True)
    assert (wrong.returncode, "invalid --on 'sometimes'" in wrong.stderr) == (2, True)


def test_doctor_names_who_could_not_be_told(posthouse: "Commands") -> None:
    """By the agent, with the reason; whoever was told is not named, and a broken file is."""
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "one", "--headless", "--no-gateway")
    add = ("agents", "notify", "add", "one", "--on", "all", "--webhook")
    reached = posthouse.json(*add, "http://127.0.0.1:8/")
    failing = posthouse.json(*add, "http://127.0.0.1:9/")
    kept = TargetFiles(Path(failing["secret_file"]).parent.parent)
    kept.save_state(reached["target_id"], _state("delivered", "200"))
    kept.save_state(failing["target_id"], _state("given_up", "not reached"))

    told, shown = posthouse.json("doctor")["untold"], posthouse.ok("doctor")
    (kept.folder / tf.TARGETS).write_text("{")
    broken = posthouse.json("doctor")["untold"]

    name = failing["target_id"]
    assert told == [{"agent": "one", "target_id": name, "detail": "not reached"}]
    assert f"one: {name} the last delivery failed: not reached" in shown
    assert [(one["target_id"], "can't be read" in one["detail"]) for one in broken] == [(None, True)]


def _state(outcome: Literal["delivered", "given_up"], detail: str) -> tf.TargetState:
    last = tf.LastNotice(
        event_id="1",
        occasion="failed",
        outcome=outcome,
        attempts=1,
        detail=detail,
        at_utc="2026-11-15T05:00:00Z",
    )
    return tf.TargetState(after="1", last=last)

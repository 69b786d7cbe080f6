"""Mail that only the agent itself can reach: its TUI is asked, and the result says how little that proves."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posthouse.testing.truth import TruthLog
from posthouse.testing.waiting import wait_for

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands

_ASK = ("internals", "mail-prompt", "ann", "--json", "--watch-seconds", "170", "--operation")
_CHECK = ("agents", "mail", "check", "ann")


def _prompts(launched: dict[str, Any]) -> list[str]:
    manifest = json.loads(Path(launched["manifest_path"]).read_bytes())
    home = Path(manifest["launch_plan"]["home_selector"]["home_path"])
    return TruthLog(home / "truth.jsonl").prompts()


def _is_submitted(launched: dict[str, Any]) -> bool:
    """Whether the gateway has told that its direct prompt was taken."""
    events = Path(launched["session_root"]) / "gateway" / "events.jsonl"
    return "control_prompt_submitted" in events.read_text()


def test_a_tui_is_asked_and_each_way_that_can_go_has_its_word(posthouse: "Commands") -> None:
    """With and without a gateway: submitted with its report, busy, interrupted, rejected, tui_error."""
    launched = posthouse.json("agents", "launch", "--tool", "scripted", "--name", "ann", "--no-gateway")
    posthouse.json(
        *("agents", "mailbox", "register", "ann", "--transport", "stalwart"),
        *("--base-url", "http://127.0.0.1:9"),
    )

    sent = json.loads(posthouse.ok(*_ASK, "send", "--arguments", '{"subject": "[[repeat 3]]"}'))
    posthouse.ok("agents", "gateway", "attach", "ann")
    waiting = posthouse.start(*_ASK, "check", "--arguments", '{"since": "[[wait 300]]"}')
    wait_for(lambda: _is_submitted(launched))
    busy = posthouse.json(*_CHECK)
    posthouse.tmux("send-keys", "-t", launched["tmux_session_name"], "Escape")
    interrupted = json.loads(waiting.communicate()[0])
    (posthouse.workdir / "long").write_text("x" * 1_048_000)
    rejected = posthouse.json(
        *("agents", "mail", "send", "ann", "--to", "bob@houmao.localhost"),
        *("--subject", "s", "--body-file", "long"),
    )
    posthouse.tmux("kill-session", "-t", launched["tmux_session_name"])
    gone: dict[str, Any] = {}

    def is_gone() -> bool:
        gone.update(posthouse.json(*_CHECK))
        return str(gone["status"]) == "tui_error"

    wait_for(is_gone)

    asked = {name: sent[name] for name in ("request_id", "operation", "transport", "principal_id", "address")}
    assert sent["preview_result"] == {**asked, "result": {}}
    assert asked["request_id"] in _prompts(launched)[0]
    told = (sent, busy, interrupted, rejected, gone)
    assert [(one["status"], one["preview_result"] is None) for one in told] == [
        ("submitted", False),
        ("busy", True),
        ("interrupted", True),
        ("rejected", True),
        ("tui_error", True),
    ]
    weak = {"authoritative": False, "execution_path": "tui_submission", "verification_required": True}
    assert [{name: one[name] for name in weak} for one in told] == [weak] * 5
    assert [one["submitted_at_utc"] is None for one in told] == [False, True, False, True, True]
    assert len(_prompts(launched)) == 2

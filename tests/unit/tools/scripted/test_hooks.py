"""Hook commands."""

import json
from pathlib import Path

import pytest

from posthouse.testing.truth import TruthLog
from posthouse.tools.scripted import hooks
from posthouse.tools.scripted.truth import TruthWriter


def test_a_hook_gets_its_event_as_json(tmp_path: Path) -> None:
    """The event's name and fields arrive on stdin."""
    out = tmp_path / "out.json"
    fired = hooks.HookRunner({"Stop": f"cat > {out}"}, TruthWriter(tmp_path / "truth.jsonl"))

    fired.fire("Stop", last_assistant_message="é\n")
    fired.fire("UserPromptSubmit", prompt="no hook for this")
    fired.finish()

    assert json.loads(out.read_text()) == {"hook_event_name": "Stop", "last_assistant_message": "é\n"}
    assert not fired.is_running


def test_a_hook_that_fails_stops_nobody_and_is_noted(tmp_path: Path) -> None:
    """The truth log tells which hook failed, and how."""
    fired = hooks.HookRunner({"Stop": "exit 3"}, TruthWriter(tmp_path / "truth.jsonl"))

    fired.fire("Stop")
    fired.finish()

    [noted] = TruthLog(tmp_path / "truth.jsonl").events("hook_failed")
    assert (noted["text"], noted["code"]) == ("Stop", 3)


def test_settings_may_be_absent_but_not_broken(tmp_path: Path) -> None:
    """A home without settings has no hooks; anything but an object is an error."""
    assert hooks.commands(hooks.read_settings(tmp_path)) == {}
    (tmp_path / "settings.json").write_text('{"hooks": {"Stop": "true", "Odd": 7}}')
    assert hooks.commands(hooks.read_settings(tmp_path)) == {"Stop": "true"}
    (tmp_path / "settings.json").write_text("[1]")
    with pytest.raises(ValueError, match="must hold a JSON object"):
        hooks.read_settings(tmp_path)

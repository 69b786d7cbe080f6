"""Hooks in the settings of a home."""

from pathlib import Path
from typing import Any

from posthouse.tools import spool
from posthouse.tools.claude import hooks

OTHERS: dict[str, list[Any]] = {
    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
    "SessionStart": [{"hooks": []}],
}


def _command(made: dict[str, list[Any]], event: str) -> str:
    command: str = made[event][-1]["hooks"][0]["command"]
    return command


def test_each_event_is_reported_and_others_hooks_are_kept() -> None:
    """Ours come last."""
    made = hooks.merge_hooks(OTHERS, Path("/spool"))

    assert list(made) == ["Stop", "SessionStart", "UserPromptSubmit", "StopFailure", "PermissionRequest"]
    assert made["SessionStart"] == OTHERS["SessionStart"]
    assert made["Stop"][0] == OTHERS["Stop"][0]
    assert _command(made, "Stop") == spool.command(Path("/spool"), "Stop")


def test_a_question_is_left_undecided() -> None:
    """An empty object says so where silence might be taken for a no; elsewhere silence is right."""
    made = hooks.merge_hooks({}, Path("/spool"))

    assert _command(made, "PermissionRequest").endswith("; printf %s '{}'; exit 0")
    assert "printf" not in _command(made, "UserPromptSubmit")


def test_a_second_launch_reports_to_its_own_folder_alone() -> None:
    """The same folder again changes nothing, another one replaces it, none takes ours away."""
    once = hooks.merge_hooks(OTHERS, Path("/it's one"))

    assert hooks.merge_hooks(once, Path("/it's one")) == once
    assert hooks.merge_hooks(once, Path("/two")) == hooks.merge_hooks(OTHERS, Path("/two"))
    assert hooks.merge_hooks(once, None) == OTHERS


def test_what_is_no_list_of_hooks_is_left_out() -> None:
    """The CLI would refuse the whole file for it."""
    assert hooks.merge_hooks({"Stop": "x", "SessionStart": [{"hooks": "x"}]}, None) == {
        "SessionStart": [{"hooks": "x"}]
    }

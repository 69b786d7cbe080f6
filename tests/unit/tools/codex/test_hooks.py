"""Our hooks among others, and their trust."""

from pathlib import Path
from typing import Any

from posthouse.tools import spool
from posthouse.tools.codex import hooks

FILE = Path("/h/hooks.json")
THEIRS = {"hooks": [{"type": "command", "command": "say done"}]}


def _commands(settings: dict[str, Any], event: str) -> list[str]:
    return [hook["command"] for group in settings["hooks"].get(event, []) for hook in group["hooks"]]


def test_every_event_reports_to_the_spool() -> None:
    """Each with its own name."""
    settings = hooks.merge_hooks({}, Path("/s"))

    assert {event: _commands(settings, event) for event in hooks.TURN_SIGNALS} == {
        event: [spool.command(Path("/s"), event)] for event in hooks.TURN_SIGNALS
    }


def test_a_hook_is_trusted_by_its_place_and_its_hash() -> None:
    """As codex itself writes it; a changed hook has another hash."""
    told = hooks.trust(hooks.merge_hooks({"hooks": {"Stop": [THEIRS]}}, Path("/s")), FILE)
    moved = hooks.trust(hooks.merge_hooks({}, Path("/other")), FILE)

    assert list(told) == [
        "/h/hooks.json:user_prompt_submit:0:0",
        "/h/hooks.json:stop:1:0",
        "/h/hooks.json:permission_request:0:0",
    ]
    hashes = [state["trusted_hash"] for state in (*told.values(), *moved.values())]
    assert len(set(hashes)) == len(hashes)


def test_the_hash_is_the_one_codex_makes() -> None:
    """Taken from a configuration that codex wrote when a person trusted this hook."""
    command = "printf '%s' \"né\" > /dev/null && exit 0"
    hook = {"type": "command", "command": command, "timeout": 10}

    recorded = "sha256:d316a3bd5ed7057ccdb8cbe487b006bdadc1ad908cffb425fc8bfe0b05d069b0"
    assert hooks.hash_of("Stop", hook) == recorded


def test_hooks_of_others_keep_their_place_and_ours_are_not_doubled() -> None:
    """A home may be used by one session after the other."""
    first = hooks.merge_hooks({"note": 1, "hooks": {"Stop": [THEIRS], "Other": [THEIRS]}}, Path("/s"))
    second = hooks.merge_hooks(first, Path("/later"))

    assert second["note"] == 1
    assert _commands(second, "Other") == ["say done"]
    assert _commands(second, "Stop") == ["say done", spool.command(Path("/later"), "Stop")]
    assert hooks.merge_hooks(second, None)["hooks"] == {"Stop": [THEIRS], "Other": [THEIRS]}

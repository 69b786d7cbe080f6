"""A process killed at any step of what it does to a mailbox root leaves something whole."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_WALK = Path(__file__).parent / "crash_walk.py"
_FIRST = ["message 1", "message 2"]


def _walk(tmp_path: Path, operation: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, str(_WALK), str(tmp_path), operation],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_killed_delivery_is_there_for_everybody_or_for_nobody(tmp_path: Path) -> None:
    """Whoever opens the root next completes or undoes it, and the next message is delivered."""
    steps = _walk(tmp_path, "send")

    for left in steps:
        subjects = left["ben"]
        assert subjects in (_FIRST, [*_FIRST, "message 3"]), left
        assert (left["ada"], left["cleo"]) == (subjects, subjects), left
        assert left["documents"] == len(subjects), left
        assert (left["links"], left["half done"]) == ({}, 0), left
        assert left["afterwards"] == [*subjects, "message 4"], left
    assert len(steps) > 15
    assert steps[0]["ben"] == _FIRST
    assert steps[-1]["ben"] == [*_FIRST, "message 3"]


@pytest.mark.parametrize("operation", ["archive", "mark", "repair"])
def test_a_killed_change_is_made_to_every_message_or_to_none(tmp_path: Path, operation: str) -> None:
    """Two messages are both in the inbox or both in the archive, and no message is lost."""
    steps = _walk(tmp_path, operation)

    for left in steps:
        assert sorted(left["ben"] + left["ben's archive"]) == _FIRST, left
        assert left["ben's archive"] in ([], _FIRST), left
        assert (left["ada"], left["cleo"], left["links"]) == (_FIRST, _FIRST, {}), left
        assert left["afterwards"] == [*_FIRST, "message 4"], left
    assert steps[-1]["ben's archive"] == (_FIRST if operation == "archive" else [])


@pytest.mark.parametrize("operation", ["force", "stash", "purge"])
def test_a_killed_registration_leaves_a_mailbox_that_can_be_registered_again(
    tmp_path: Path, operation: str
) -> None:
    """The others keep their mail, and the address works again after the next `safe` registration."""
    steps = _walk(tmp_path, operation)

    for left in steps:
        assert (left["ada"], left["cleo"], left["documents"]) == (_FIRST, _FIRST, 2), left
        assert left["afterwards"] == [*_FIRST, "message 4"], left
    assert steps[-1]["ben"] == (None if operation == "purge" else [])


def test_a_killed_clearing_leaves_whole_mailboxes(tmp_path: Path) -> None:
    """Each mailbox has all its messages, which can be read, or none; new mail is delivered anyway."""
    steps = _walk(tmp_path, "clear")

    for left in steps:
        assert all(left[name] in ([], _FIRST) for name in ("ada", "ben", "cleo")), left
        assert left["links"] == {}, left
        assert left["afterwards"] == [*left["cleo"], "message 4"], left
    assert [(left["ben"], left["documents"]) for left in (steps[0], steps[-1])] == [(_FIRST, 2), ([], 0)]

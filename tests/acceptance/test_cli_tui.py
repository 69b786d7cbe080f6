"""Captures of a live agent through the command line."""

import json
import time
from typing import TYPE_CHECKING

from posthouse.testing.waiting import LIMIT_SECONDS

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands


def _ready(posthouse: "Commands", name: str) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while posthouse.json("agents", "state", name)["turn"]["phase"] != "ready":
        assert time.monotonic() < deadline, "it never became ready"


def test_a_screen_is_recorded_with_a_persons_words_and_checked(posthouse: "Commands") -> None:
    """The capture is what the terminal shows; the words are the person's, and a wrong one is found."""
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "two")
    _ready(posthouse, "two")
    into = ("--into", str(posthouse.folder / "captures"))
    check = ("tui", "check", "--tool", "scripted", "--captures", into[1])

    recorded = posthouse.json("tui", "record", "two", "--as", "idle", "--state", "ready", *into)
    right = posthouse.ok(*check)
    again = posthouse.run("tui", "record", "two", "--as", "idle", "--state", "ready", *into)
    wrong = posthouse.json("tui", "record", "two", "--as", "other", "--state", "active", *into)
    found = posthouse.run(*check, "--json")
    unasked = posthouse.run("tui", "record", "two", "--as", "third", *into)

    assert recorded == {
        "folder": into[1],
        "capture": "idle",
        "expected": {"state": "ready"},
        "read": {"state": "ready"},
        "same": True,
    }
    assert right == "captures classified as expected: 1\n"
    assert (again.returncode, "--force replaces it" in again.stderr) == (1, True)
    assert (wrong["read"], wrong["same"]) == ({"state": "ready"}, False)
    assert (found.returncode, [each["capture"] for each in json.loads(found.stdout)["wrong"]]) == (
        1,
        ["other"],
    )
    assert (unasked.returncode, "--state is required" in unasked.stderr) == (2, True)
    assert sorted(path.name for path in (posthouse.folder / "captures").iterdir()) == [
        "expected.json",
        "idle.ansi",
        "idle.meta",
        "other.ansi",
        "other.meta",
    ]


def test_a_capture_from_a_pipe_needs_no_agent_and_no_tmux(posthouse: "Commands") -> None:
    """`classify` is pure: a file, or stdin, and one JSON object."""
    read = json.loads(
        posthouse.ok(
            "tui", "classify", "--tool", "gemini", "--ansi", "-", "--dead", more={"PATH": "/nowhere"}
        )
    )

    assert (read["state"], read["draft"]) == ("exited", None)

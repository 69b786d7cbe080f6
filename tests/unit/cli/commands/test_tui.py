"""`tui classify` and `tui check`."""

import io
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from posthouse.cli import dispatch
from posthouse.cli.error_output import UsageError
from posthouse.cli.wiring import Wiring
from posthouse.errors import NotFound, PosthouseError
from posthouse.tools.packs import captures

FOLDER = captures.folder_of("claude")


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: str) -> tuple[int, str]:
        code = dispatch.run("posthouse", words, Wiring({"HOME": str(tmp_path)}, tmp_path))
        return code, capsys.readouterr().out

    return run


def _classified(run: Any, *words: str) -> dict[str, Any]:
    code, out = run("tui", "classify", "--tool", "claude", *words)
    read: dict[str, Any] = json.loads(out)
    assert code == 0
    return read


def test_a_screen_is_classified_as_one_json_object(run: Any) -> None:
    """State, outcome, dialog, draft and evidence, and what else is known."""
    read = _classified(
        run, "--ansi", str(FOLDER / "interrupted-draft-80.ansi"), "--title", "✳ x", "--cursor", "6,19"
    )

    assert read == {
        "state": "draft",
        "outcome": "interrupted",
        "error": None,
        "dialog": None,
        "choices": [],
        "draft": "next",
        "detail": None,
        "resets": None,
        "chat_context": "unknown",
        "chat_diagnostic": None,
        "evidence": [
            "a draft in the composer",
            "the title of an idle agent",
            "the last turn: ⎿ \u00a0Interrupted · What should Claude do instead?",
        ],
        "pack": "claude 2.1",
    }


def test_a_dead_pane_has_exited(run: Any) -> None:
    """Whatever is left on its screen."""
    read = _classified(run, "--ansi", str(FOLDER / "ready-first.ansi"), "--dead")

    assert (read["state"], read["evidence"]) == ("exited", ["the pane is dead"])


def test_a_screen_may_come_from_stdin(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tmux capture-pane -p -e | posthouse tui classify … --ansi -`."""
    screen = (FOLDER / "dialog-permission-50.ansi").read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(screen)))

    read = _classified(run, "--ansi", "-")

    assert (read["state"], read["dialog"], [choice["keys"] for choice in read["choices"]]) == (
        "blocked",
        "permission",
        [["1"], ["2"], ["3"]],
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(("--ansi", "nowhere.ansi"), "nowhere.ansi can't be read: No such file", id="no file"),
        pytest.param(("--ansi", "/"), "/ can't be read: Is a directory", id="a folder"),
        pytest.param(("--ansi", "/dev/zero"), "is larger than", id="no end"),
        pytest.param(
            ("--ansi", "x", "--cursor", "3"), "invalid position '3': give column and row", id="half a place"
        ),
        pytest.param(("--ansi", "x", "--tool", "vi"), "invalid choice: 'vi'", id="a tool that is none"),
        pytest.param((), "--ansi", id="no capture named"),
    ],
)
def test_what_can_not_be_classified_is_said(run: Any, words: tuple[str, ...], complaint: str) -> None:
    """With what to do instead."""
    with pytest.raises((PosthouseError, UsageError)) as raised:
        run("tui", "classify", "--tool", "claude", *words)

    assert complaint in str(raised.value)


def test_all_captures_of_all_packs_are_read_right(run: Any) -> None:
    """`tui check` is what a contributor runs after a change."""
    code, out = run("tui", "check")

    total = sum(len(captures.names(captures.folder_of(tool))) for tool in captures.tools())
    assert (code, out) == (0, f"captures classified as expected: {total}\n")


def test_a_capture_that_is_read_otherwise_is_shown_and_fails_the_check(run: Any, tmp_path: Path) -> None:
    """Only what differs, and captures for which nobody gave words."""
    for name in ("draft", "ready-first", "exited"):
        for ending in (".ansi", ".meta"):
            shutil.copy(FOLDER / f"{name}{ending}", tmp_path)
    (tmp_path / captures.EXPECTED).write_text('{"draft": {"state": "active"}, "exited": {"state": "exited"}}')

    code, out = run("tui", "check", "--tool", "claude", "--captures", str(tmp_path), "--json")

    assert (code, json.loads(out)) == (
        1,
        {
            "checked": 3,
            "wrong": [
                {
                    "tool": "claude",
                    "capture": "draft",
                    "expected": {"state": "active"},
                    "read": {"state": "draft", "draft": "hello draft text"},
                },
                {"tool": "claude", "capture": "ready-first", "expected": None, "read": {"state": "ready"}},
            ],
        },
    )
    code, out = run("tui", "check", "--tool", "claude", "--captures", str(tmp_path))
    assert (code, out.splitlines()[-1]) == (1, "captures classified differently: 2 of 3")


def test_captures_elsewhere_need_a_tool_and_a_folder(run: Any, tmp_path: Path) -> None:
    """Nobody guesses whose screens they are."""
    with pytest.raises(PosthouseError, match="--captures needs --tool"):
        run("tui", "check", "--captures", str(tmp_path))
    with pytest.raises(NotFound, match="is not a folder of captures"):
        run("tui", "check", "--tool", "claude", "--captures", str(tmp_path / "none"))

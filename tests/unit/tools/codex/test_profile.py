"""Codex as its drivers see it."""

from pathlib import Path

import pytest

from posthouse import tools
from posthouse.errors import Unavailable
from posthouse.tools.codex.profile import TOOL
from posthouse.tools.tool import Chat, HeadlessTurn, HookReport, Launch, Setup


@pytest.fixture
def codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A codex on PATH that is never run; its folder tells its version."""
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.touch(mode=0o755)
    (tmp_path / "codex-package.json").write_text('{"version": "0.166.0"}')
    monkeypatch.setenv("PATH", str(program.parent))
    return program


def _setup(place: Path, *, is_headless: bool = False) -> Setup:
    return Setup(
        home=place / "home",
        working_directory=place,
        user_home=place,
        login="none",
        is_headless=is_headless,
    )


def test_it_is_found_by_its_name() -> None:
    """With the decoder of its stream."""
    assert tools.load("codex") is TOOL
    assert tools.load_decoder("codex").PROVIDER == "codex"


def test_a_turn_has_its_home_and_its_prompt_on_stdin(codex: Path) -> None:
    """Nothing secret is in it."""
    launch = Launch(home=Path("/h"), working_directory=Path("/w"), role_name="r")

    program = TOOL.turn_program(launch, HeadlessTurn(prompt="hi"))
    assert (program.argv[0], program.environment, program.stdin) == (str(codex), {"CODEX_HOME": "/h"}, "hi")
    tui = TOOL.tui_program(launch, Chat())
    assert (tui.argv[:2], tui.environment, tui.stdin) == (
        (str(codex), "--no-daemon"),
        {"CODEX_HOME": "/h"},
        None,
    )


@pytest.mark.parametrize(
    ("event", "meaning"),
    [
        ("UserPromptSubmit", "submitted"),
        ("Stop", "ended"),
        ("PermissionRequest", "asking"),
        ("SessionStart", None),
    ],
)
def test_a_hooks_report_means_something_for_the_turn(event: str, meaning: str | None) -> None:
    """Or nothing."""
    report = HookReport(event=event, at_utc="", payload={"prompt": "hi"})

    assert (TOOL.turn_signal(report), TOOL.submitted_prompt(report)) == (meaning, "hi")


def test_a_headless_agent_that_could_only_read_says_so(codex: Path, place: Path) -> None:
    """Nobody would be there to ask."""
    [warning] = TOOL.check(_setup(place, is_headless=True))

    assert "--permissions edits" in warning
    assert list(TOOL.check(_setup(place))) == []


def test_what_cannot_work_is_told_before_it_is_tried(
    codex: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old version, or none."""
    (codex.parents[1] / "codex-package.json").write_text('{"version": "0.42.0"}')
    with pytest.raises(Unavailable, match="too old"):
        TOOL.check(_setup(place))

    codex.unlink()
    with pytest.raises(Unavailable, match="not installed"):
        TOOL.check(_setup(place))

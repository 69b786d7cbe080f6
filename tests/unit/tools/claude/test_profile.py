"""Claude Code as the rest of the product sees it."""

import os
from pathlib import Path

import pytest

from posthouse import tools
from posthouse.errors import InvalidInput
from posthouse.tools.claude import install
from posthouse.tools.claude.profile import TOOL
from posthouse.tools.tool import Chat, HeadlessTurn, HookReport, Launch, Permissions, Setup

LAUNCH = Launch(home=Path("/h"), working_directory=Path("/w"), role_name="r")


@pytest.fixture(autouse=True)
def _claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program on PATH that nobody runs."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))


def _setup(place: Path, *, permissions: Permissions = "ask", is_headless: bool = True) -> Setup:
    return Setup(
        home=place / "home",
        working_directory=place,
        user_home=place,
        permissions=permissions,
        login="env",
        is_headless=is_headless,
        variables={"ANTHROPIC_API_KEY": "k"},
    )


def test_it_is_found_by_its_name() -> None:
    """Tool and decoder."""
    assert tools.load("claude") is TOOL
    assert tools.load_decoder("claude").PROVIDER == "claude"


def test_a_prompt_goes_in_by_stdin() -> None:
    """Where no process list shows it."""
    program = TOOL.turn_program(LAUNCH, HeadlessTurn(prompt="secret"))

    assert (program.argv[0], program.stdin) == (install.executable(), "secret")
    assert program.environment == {"CLAUDE_CONFIG_DIR": "/h"}


@pytest.mark.parametrize(("uid", "extra"), [(0, {"IS_SANDBOX": "1"}), (1000, {})])
def test_root_is_allowed_everything_only_in_a_sandbox(
    uid: int, extra: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which the program has to be told, or it ends at once."""
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    launch = Launch(home=Path("/h"), working_directory=Path("/w"), role_name="r", permissions="all")

    assert TOOL.tui_program(launch, Chat()).environment == {"CLAUDE_CONFIG_DIR": "/h", **extra}
    assert TOOL.tui_program(LAUNCH, Chat()).environment == {"CLAUDE_CONFIG_DIR": "/h"}


def test_a_headless_agent_that_would_be_denied_every_tool_is_warned_about(tmp_path: Path) -> None:
    """Nobody sits there to be asked."""
    [warning] = TOOL.check(_setup(tmp_path))

    assert "every tool that writes, runs or fetches something is denied" in warning
    assert TOOL.check(_setup(tmp_path, permissions="edits")) == ()
    assert TOOL.check(_setup(tmp_path, is_headless=False)) == ()


def test_a_launch_without_a_login_is_refused_by_the_check(tmp_path: Path) -> None:
    """Before anything is made."""
    setup = Setup(home=tmp_path / "home", working_directory=tmp_path, user_home=tmp_path)

    with pytest.raises(InvalidInput, match="not logged in"):
        TOOL.check(setup)
    assert not (tmp_path / "home").exists()


def test_a_persons_broken_settings_tell_of_no_account(tmp_path: Path) -> None:
    """Whoever asks about every tool gets an answer."""
    (tmp_path / ".claude.json").write_text("{")

    assert TOOL.account(tmp_path, {}).kind is None
    assert TOOL.account(tmp_path, {"ANTHROPIC_API_KEY": "k"}).kind == "API key"


def test_reports_of_hooks_have_a_meaning() -> None:
    """Others have none."""
    reports = [
        HookReport(event=event, at_utc="", payload={"prompt": "hi"})
        for event in ("UserPromptSubmit", "Stop", "StopFailure", "PermissionRequest", "SessionStart")
    ]

    assert [TOOL.turn_signal(report) for report in reports] == [
        "submitted",
        "ended",
        "failed",
        "asking",
        None,
    ]
    assert TOOL.submitted_prompt(reports[0]) == "hi"
    assert TOOL.submitted_prompt(HookReport(event="Stop", at_utc="", payload={})) is None

"""Gemini CLI as its drivers see it."""

from pathlib import Path
from typing import Any

import pytest

from posthouse import tools
from posthouse.errors import InvalidInput, Unavailable
from posthouse.tools.gemini.profile import TOOL
from posthouse.tools.settings import BadSettings
from posthouse.tools.tool import Chat, HeadlessTurn, HookReport, Launch, Setup


@pytest.fixture
def gemini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gemini on PATH that is never run."""
    program = tmp_path / "bin" / "gemini"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    return program


def _setup(folder: Path, **options: Any) -> Setup:
    given = {"variables": {"GEMINI_API_KEY": "k"}, "login": "env", **options}
    return Setup(home=folder / "home", working_directory=folder, user_home=folder, **given)


def test_it_is_found_by_its_name() -> None:
    """With the decoder of its stream."""
    assert tools.load("gemini") is TOOL
    assert tools.load_decoder("gemini").PROVIDER == "gemini"


def test_a_turn_has_its_home_and_its_prompt_on_stdin(gemini: Path) -> None:
    """Nothing of it shows in the process list, and the level is told by the environment."""
    launch = Launch(
        home=Path("/h"), working_directory=Path("/w"), role_name="r", model="m", reasoning_level=1
    )
    environment = {
        "GEMINI_CLI_HOME": "/h",
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "COLORTERM": "truecolor",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "POSTHOUSE_GEMINI_THINKING_512_FAMILY": "chat-base-2.5",
        "POSTHOUSE_GEMINI_THINKING_512_MODEL": "m",
    }

    turn = TOOL.turn_program(launch, HeadlessTurn(prompt="hi"))
    tui = TOOL.tui_program(launch, Chat())
    assert (turn.argv[0], turn.stdin, turn.environment) == (str(gemini), "hi", environment)
    assert (tui.argv[0], tui.stdin, tui.environment) == (str(gemini), None, environment)
    assert "hi" not in turn.argv


@pytest.mark.parametrize(
    ("event", "meaning"),
    [
        ("BeforeAgent", "submitted"),
        ("AfterAgent", "ended"),
        ("Notification", "asking"),
        ("SessionStart", None),
    ],
)
def test_a_report_has_a_meaning(event: str, meaning: str | None) -> None:
    """The prompt is told by the one that says it was taken, and only by that."""
    report = HookReport(event=event, at_utc="", payload={"prompt": "hi"})

    assert TOOL.turn_signal(report) == meaning
    assert TOOL.submitted_prompt(report) == ("hi" if event == "BeforeAgent" else None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"is_headless": True, "permissions": "ask"}, "--permissions edits"),
        ({"is_headless": True, "permissions": "edits"}, "--permissions all"),
        ({"is_headless": True, "permissions": "all"}, None),
        ({"is_headless": False, "permissions": "ask"}, None),
    ],
)
def test_a_headless_agent_that_may_not_work_is_warned_of(
    gemini: Path, tmp_path: Path, options: dict[str, Any], words: str | None
) -> None:
    """There is nobody to ask, and the CLI says nothing of it."""
    warnings = TOOL.check(_setup(tmp_path, **options))

    assert len(warnings) == (0 if words is None else 1)
    assert all(words is not None and words in warning for warning in warnings)


def test_what_keeps_it_from_working_is_said_before_a_launch(gemini: Path, tmp_path: Path) -> None:
    """From files alone: no login, settings that cannot be read, no program."""
    with pytest.raises(InvalidInput, match="needs an API key"):
        TOOL.check(_setup(tmp_path, variables={}))
    settings = tmp_path / "home" / ".gemini" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text("{")
    with pytest.raises(BadSettings):
        TOOL.check(_setup(tmp_path))
    gemini.unlink()
    with pytest.raises(Unavailable, match="not installed"):
        TOOL.check(_setup(tmp_path))

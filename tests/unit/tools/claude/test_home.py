"""A config home in which nothing waits for a person."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools.claude import home, hooks
from posthouse.tools.settings import BadSettings
from posthouse.tools.tool import LoginMode, Permissions, Setup

KEY = "sk-ant-0123456789-0123456789-0123456789"


def _setup(
    place: Path,
    kind: LoginMode = "env",
    *,
    permissions: Permissions = "ask",
    spool: Path | None = None,
    key: str = KEY,
) -> Setup:
    return Setup(
        home=place / "home",
        working_directory=place / "proj",
        user_home=place,
        permissions=permissions,
        login=kind,
        spool=spool,
        variables={"ANTHROPIC_API_KEY": key} if key else {},
    )


def _read(place: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((place / "home" / name).read_text())
    return content


def test_a_new_home_is_onboarded_trusted_titled_and_quiet(tmp_path: Path) -> None:
    """Exactly what the program must find; the key is known by its end alone."""
    home.prepare(_setup(tmp_path, spool=tmp_path / "hooks"))

    assert _read(tmp_path, ".claude.json") == {
        "hasCompletedOnboarding": True,
        "projects": {str(tmp_path / "proj"): {"hasTrustDialogAccepted": True}},
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
    }
    assert _read(tmp_path, "settings.json") == {
        "env": {
            "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "0",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY": "1",
        },
        "hooks": hooks.merge_hooks({}, tmp_path / "hooks"),
    }
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "home" / ".claude.json").stat().st_mode) == 0o600


def test_a_second_preparation_changes_nothing(tmp_path: Path) -> None:
    """Not even the files' times."""
    setup = _setup(tmp_path, spool=tmp_path / "hooks")
    home.prepare(setup)
    before = [(tmp_path / "home" / name).stat() for name in (".claude.json", "settings.json")]

    home.prepare(setup)
    assert [(tmp_path / "home" / name).stat() for name in (".claude.json", "settings.json")] == before


def test_what_a_home_holds_already_is_kept(tmp_path: Path) -> None:
    """A rejected key is approved, because it was given; everything else stays."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".claude.json").write_text(
        json.dumps(
            {
                "numStartups": 3,
                "projects": {"/other": {"x": 1}, str(tmp_path / "proj"): {"history": []}},
                "customApiKeyResponses": {"approved": ["older"], "rejected": [KEY[-20:], "bad"]},
            }
        )
    )
    (tmp_path / "home" / "settings.json").write_text(json.dumps({"model": "opus", "env": {"A": "1"}}))
    home.prepare(_setup(tmp_path))

    assert _read(tmp_path, ".claude.json") == {
        "numStartups": 3,
        "hasCompletedOnboarding": True,
        "projects": {
            "/other": {"x": 1},
            str(tmp_path / "proj"): {"history": [], "hasTrustDialogAccepted": True},
        },
        "customApiKeyResponses": {"approved": ["older", KEY[-20:]], "rejected": ["bad"]},
    }
    kept = _read(tmp_path, "settings.json")
    assert (kept["model"], kept["env"]["A"]) == ("opus", "1")


def test_all_permissions_answer_the_dialog_that_would_ask_about_them(tmp_path: Path) -> None:
    """And nothing less does."""
    home.prepare(_setup(tmp_path, permissions="edits"))
    assert "skipDangerousModePermissionPrompt" not in _read(tmp_path, "settings.json")

    home.prepare(_setup(tmp_path, permissions="all"))
    assert _read(tmp_path, "settings.json")["skipDangerousModePermissionPrompt"] is True


def test_an_inherited_helper_and_an_inherited_key_are_prepared_for(tmp_path: Path) -> None:
    """The helper goes into the settings, the key into the program's variables."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"apiKeyHelper": "get-key"}')
    assert home.prepare(_setup(tmp_path, "inherit", key="")) == {}
    assert _read(tmp_path, "settings.json")["apiKeyHelper"] == "get-key"

    (tmp_path / ".claude" / "settings.json").unlink()
    (tmp_path / "home" / "settings.json").unlink()
    (tmp_path / ".claude.json").write_text(json.dumps({"primaryApiKey": KEY}))
    assert home.prepare(_setup(tmp_path, "inherit", key="")) == {"ANTHROPIC_API_KEY": KEY}
    assert _read(tmp_path, ".claude.json")["customApiKeyResponses"]["approved"] == [KEY[-20:]]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".claude.json", "{"),
        (".claude.json", '{"projects": []}'),
        ("settings.json", '{"hooks": []}'),
        ("settings.json", '{"env": 1}'),
    ],
)
def test_settings_that_cannot_be_read_are_named_and_left(name: str, content: str, tmp_path: Path) -> None:
    """By the check already, and nothing is written by either."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / name).write_text(content)

    for attempt in (home.check, home.prepare):
        with pytest.raises(BadSettings, match=r"json.*repair or remove it"):
            attempt(_setup(tmp_path))
    kept = {path.name: path.read_text() for path in (tmp_path / "home").glob("*.json")}
    assert {**kept, name: (tmp_path / "home" / name).read_text()} == {name: content}


def test_without_a_login_nothing_is_made(tmp_path: Path) -> None:
    """The folder does not even appear."""
    for attempt in (home.check, home.prepare):
        with pytest.raises(InvalidInput, match=r"needs ANTHROPIC_API_KEY|not logged in"):
            attempt(_setup(tmp_path, key=""))

    assert not (tmp_path / "home").exists()

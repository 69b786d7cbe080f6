"""The agent's own config home."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools import spool
from posthouse.tools.gemini import home, thinking
from posthouse.tools.settings import BadSettings
from posthouse.tools.tool import Setup


def _setup(folder: Path, **options: Any) -> Setup:
    given = {"variables": {"GEMINI_API_KEY": "k"}, "login": "env", "spool": folder / "hooks", **options}
    return Setup(home=folder / "home", working_directory=folder, user_home=folder, **given)


def _settings(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "home" / ".gemini" / "settings.json").read_bytes())
    return content


def test_a_home_is_prepared_once(tmp_path: Path) -> None:
    """Quiet, with titles, and no secret in it; the second time nothing is written."""
    assert home.prepare(_setup(tmp_path)) == {}
    path = tmp_path / "home" / ".gemini" / "settings.json"
    before = path.stat()
    home.prepare(_setup(tmp_path))

    settings = _settings(tmp_path)
    assert {name: settings[name] for name in ("general", "privacy", "security", "ui")} == {
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "ui": {"dynamicWindowTitle": True, "hideBanner": False, "hideWindowTitle": False},
    }
    assert settings["modelConfigs"]["customOverrides"] == thinking.overrides()
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_inherited_login_is_returned_and_not_written(tmp_path: Path) -> None:
    """It goes to the program, and to no file of the home."""
    added = home.prepare(_setup(tmp_path, login="inherit", variables={"GEMINI_API_KEY": "the-secret"}))

    assert added == {"GEMINI_API_KEY": "the-secret"}
    written = [path.read_text() for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert not any("the-secret" in content for content in written)


def test_settings_that_were_there_are_kept(tmp_path: Path) -> None:
    """Of a home that the user brought, only what must be so is changed; our own entries are not doubled."""
    (tmp_path / "home" / ".gemini").mkdir(parents=True)
    own = {
        "ui": {"theme": "ANSI", "hideWindowTitle": True},
        "hooks": {"AfterAgent": [{"hooks": [{"type": "command", "command": "true", "name": "mine"}]}]},
        "modelConfigs": {
            "customOverrides": [{"match": {"model": "x"}, "modelConfig": {}}],
            "customAliases": {},
        },
    }
    (tmp_path / "home" / ".gemini" / "settings.json").write_text(json.dumps(own))
    home.prepare(_setup(tmp_path, spool=tmp_path / "old"))
    home.prepare(_setup(tmp_path))

    settings = _settings(tmp_path)
    assert settings["ui"] == {
        "theme": "ANSI",
        "dynamicWindowTitle": True,
        "hideBanner": False,
        "hideWindowTitle": False,
    }
    names = [[hook["name"] for hook in group["hooks"]] for group in settings["hooks"]["AfterAgent"]]
    assert names == [["mine"], ["posthouse"]]
    assert settings["modelConfigs"] == {
        "customAliases": {},
        "customOverrides": [{"match": {"model": "x"}, "modelConfig": {}}, *thinking.overrides()],
    }


def test_hooks_report_in(tmp_path: Path) -> None:
    """Each event leaves its report, and the CLI gets an answer that decides nothing."""
    (tmp_path / "hooks").mkdir()
    home.prepare(_setup(tmp_path))

    commands = {
        event: groups[-1]["hooks"][0]["command"] for event, groups in _settings(tmp_path)["hooks"].items()
    }
    said = [
        subprocess.run(
            ["/bin/sh", "-c", command], input=b'{"prompt": "hi"}', capture_output=True, check=True
        ).stdout
        for command in commands.values()
    ]
    assert said == [b"{}"] * 3
    reports = [report for _, report in spool.read(tmp_path / "hooks")]
    assert {report.event: report.payload for report in reports} == {
        event: {"prompt": "hi"} for event in ("BeforeAgent", "AfterAgent", "Notification")
    }


def test_without_a_spool_there_are_no_hooks(tmp_path: Path) -> None:
    """Nobody would read them."""
    home.prepare(_setup(tmp_path, spool=None))

    assert "hooks" not in _settings(tmp_path)


@pytest.mark.parametrize("content", ["{ broken", "[]", "7"])
def test_settings_that_cannot_be_read_are_named_and_kept(tmp_path: Path, content: str) -> None:
    """The person repairs them; nothing is overwritten."""
    path = tmp_path / "home" / ".gemini" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)

    with pytest.raises(BadSettings, match="repair or remove it"):
        home.prepare(_setup(tmp_path))
    assert path.read_text() == content


def test_without_a_login_no_home_is_made(tmp_path: Path) -> None:
    """The error comes before anything is written."""
    with pytest.raises(InvalidInput, match="needs an API key"):
        home.prepare(_setup(tmp_path, variables={}))
    assert not (tmp_path / "home").exists()


def test_every_start_has_what_the_cli_needs() -> None:
    """One process, a framed composer, and no question about trust."""
    assert home.environment(Path("/h")) == {
        "GEMINI_CLI_HOME": "/h",
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "COLORTERM": "truecolor",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }

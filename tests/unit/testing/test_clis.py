"""Where the agent CLIs are, and how they are turned to a model API."""

import json
import tomllib
from pathlib import Path

import pytest

from posthouse.testing import clis


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder as npm leaves it, with empty programs."""
    for number, (name, package) in enumerate(clis.PACKAGES.items()):
        (tmp_path / "node_modules" / package).mkdir(parents=True)
        manifest = {"name": package, "version": f"1.0.{number}"}
        (tmp_path / "node_modules" / package / "package.json").write_text(json.dumps(manifest))
        (tmp_path / "node_modules/.bin").mkdir(exist_ok=True)
        (tmp_path / "node_modules/.bin" / name).touch()
    return tmp_path


def test_the_folder_that_is_named_is_taken(installed: Path) -> None:
    """POSTHOUSE_AGENT_CLIS goes before any cache."""
    assert clis.folder({"POSTHOUSE_AGENT_CLIS": str(installed), "HOME": "/home/me"}) == installed


@pytest.mark.parametrize(
    ("environment", "cache"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/posthouse"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/caches"}, "/caches/posthouse"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/caches", "POSTHOUSE_CACHE": "/ours"}, "/ours"),
        ({}, "/nowhere/.cache/posthouse"),
    ],
)
def test_missing_clis_name_the_place_and_the_way(environment: dict[str, str], cache: str) -> None:
    """Without them there is no skip: the message says where they were looked for and how they get there."""
    with pytest.raises(clis.ClisMissing) as raised:
        clis.folder(environment)

    message = str(raised.value)
    assert message.startswith(f"no claude, codex, gemini in {cache}/agent-clis-")
    assert "run `./test --set-up`" in message


def test_a_single_missing_cli_is_named(installed: Path) -> None:
    """A folder with a hole does not pass for an installation."""
    (installed / "node_modules/.bin/codex").unlink()

    with pytest.raises(clis.ClisMissing, match=r"^no codex in "):
        clis.folder({"POSTHOUSE_AGENT_CLIS": str(installed)})


def test_versions_are_those_of_the_manifests(installed: Path) -> None:
    """No CLI has to be started for it."""
    assert clis.versions(installed) == {"claude": "1.0.0", "codex": "1.0.1", "gemini": "1.0.2"}


@pytest.mark.parametrize("has_node", [False, True], ids=["the system's Node", "a Node of its own"])
def test_the_clis_come_first_on_the_path(installed: Path, has_node: bool) -> None:
    """So does the Node that was installed for them, where one was."""
    if has_node:
        (installed / "node/bin").mkdir(parents=True)

    node = [f"{installed}/node/bin"] if has_node else []
    path = clis.search_path(installed, "/usr/bin:/bin").split(":")
    assert path == [f"{installed}/node_modules/.bin", *node, "/usr/bin", "/bin"]


def test_codex_is_configured_for_the_model_api() -> None:
    """Its provider has the address, and takes the key from the variable that is set for it."""
    config = tomllib.loads(clis.codex_config("http://127.0.0.1:1"))

    variable = config["model_providers"]["scripted"].pop("env_key")
    assert config == {
        "model_provider": "scripted",
        "model_providers": {
            "scripted": {"name": "scripted", "base_url": "http://127.0.0.1:1/v1", "wire_api": "responses"}
        },
    }
    assert clis.offline_variables("codex", "") == {variable: clis.API_KEY}

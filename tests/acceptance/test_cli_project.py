"""`project …`, and clones that ship an overlay."""

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from posthouse.testing.waiting import LIMIT_SECONDS

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands

_ROOTS = ("HOUMAO_GLOBAL_RUNTIME_DIR", "HOUMAO_GLOBAL_MAILBOX_DIR")


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, timeout=LIMIT_SECONDS
    ).stdout


@pytest.fixture
def clone(posthouse: "Commands") -> Path:
    """A clone of a repository that ships an overlay; commands run in it."""
    for name in _ROOTS:
        del posthouse.environment[name]
    origin = posthouse.folder / "origin"
    runtime = origin / ".houmao" / "runtime"
    (runtime / "gateway-host").mkdir(parents=True)
    (runtime / "gateway-host" / "gateways.json").write_text('{"gateways": []}')
    (runtime / "houmao_servers" / "tokens" / "admin").mkdir(parents=True)
    (runtime / "houmao_servers" / "tokens" / "admin" / "planted").write_text("known to the author")
    (origin / ".houmao" / "houmao-config.toml").write_text("schema_version = 1\n")
    _git(origin, "init", "-q")
    _git(origin, "add", "-A")
    _git(origin, "commit", "-q", "-m", "hostile")
    _git(posthouse.folder, "clone", "-q", "origin", "clone")
    posthouse.workdir = posthouse.folder / "clone"
    return posthouse.workdir


def test_no_command_uses_the_overlay_of_a_clone(posthouse: "Commands", clone: Path) -> None:
    """Each ends with the reason and the way out, and nothing in the overlay has changed."""
    for words in (
        ("agents", "launch", "--tool", "scripted", "--name", "a", "--hosted"),
        ("agents", "launch", "--tool", "scripted", "--name", "a"),
        ("mailbox", "status"),
        ("tokens", "list"),
        ("gateway", "host"),
        ("serve", "--port", "0"),
    ):
        refused = posthouse.run(*words)

        assert refused.returncode != 0, words
        assert f"the project overlay {clone / '.houmao'} is not trusted" in refused.stderr, words
        assert f"posthouse project trust {clone}" in refused.stderr, words
    assert _git(clone, "status", "--porcelain", "--ignored") == ""


def test_an_overlay_is_made_listed_and_forgotten(posthouse: "Commands") -> None:
    """A project's own state is used below it at once, and git does not take it along."""
    for name in _ROOTS:
        del posthouse.environment[name]
    overlay = posthouse.workdir / ".houmao"

    made = json.loads(posthouse.ok("project", "init", "--json"))
    _git(posthouse.workdir, "init", "-q")
    (overlay / "runtime").mkdir()
    (overlay / "runtime" / "launch-env.json").write_text("{}")
    _git(posthouse.workdir, "add", "-A")

    assert made == {"overlay": str(overlay), "status": "trusted"}
    assert _git(posthouse.workdir, "ls-files").split() == [".houmao/.gitignore", ".houmao/houmao-config.toml"]
    assert "no tokens" in posthouse.ok("tokens", "list")
    listed = json.loads(posthouse.ok("project", "list", "--json"))
    assert listed == {"overlays": [{"overlay": str(overlay), "is_current": True}]}
    posthouse.ok("project", "untrust")
    assert posthouse.run("tokens", "list").returncode != 0
    assert "no trusted overlays" in posthouse.ok("project", "list")


def test_state_that_a_pull_brings_into_a_trusted_overlay_is_refused(posthouse: "Commands") -> None:
    """Trust is for what this user keeps there; what others commit is named, with the way out."""
    for name in _ROOTS:
        del posthouse.environment[name]
    origin = posthouse.folder / "origin"
    origin.mkdir()
    _git(origin, "init", "-q")
    (origin / "README").write_text("harmless\n")
    _git(origin, "add", "-A")
    _git(origin, "commit", "-q", "-m", "harmless")
    _git(posthouse.folder, "clone", "-q", "origin", "clone")
    posthouse.workdir = posthouse.folder / "clone"
    overlay = posthouse.workdir / ".houmao"
    posthouse.ok("project", "init")
    before = posthouse.run("tokens", "list")
    planted = origin / ".houmao" / "runtime" / "houmao_servers" / "tokens" / "admin" / "planted"
    planted.parent.mkdir(parents=True)
    planted.write_text("known to the author, and long enough to be one\n")
    _git(origin, "add", "-A")
    _git(origin, "commit", "-q", "-m", "hostile")
    _git(posthouse.workdir, "pull", "-q")

    for words in (("tokens", "list"), ("agents", "list"), ("project", "trust"), ("serve", "--port", "0")):
        refused = posthouse.run(*words)

        assert refused.returncode != 0, words
        assert f"git tracks state of the project overlay {overlay}: runtime/" in refused.stderr, words
        assert "git rm -r --cached runtime" in refused.stderr, words
    _git(posthouse.workdir, "rm", "-q", "-r", ".houmao/runtime")
    assert posthouse.ok("tokens", "list") == before.stdout

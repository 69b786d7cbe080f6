"""The mailbox skills in an agent's home, through the commands that give and take a mailbox."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands

_NAMES = ["houmao-agent-email-comms", "houmao-process-emails-via-gateway"]


def _skills(launched: Any) -> Path:
    """Where the agent's CLI looks for skills."""
    manifest = json.loads((Path(launched["session_root"]) / "manifest.json").read_bytes())
    return Path(manifest["launch_plan"]["home_selector"]["home_path"]) / "skills"


def _there(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/SKILL.md"))


def test_skills_come_with_the_mailbox_and_a_persons_own_stay(posthouse: "Commands") -> None:
    """None without a mailbox, both with one, renewed at a relaunch; a person's own is left and told of."""
    options = ("--tool", "scripted", "--name", "ann", "--headless", "--no-gateway", "--no-mailbox")
    folder = _skills(posthouse.json("agents", "launch", *options))
    before = _there(folder)
    posthouse.json("agents", "mailbox", "register", "ann")
    registered = _there(folder)
    posthouse.json("agents", "mailbox", "unregister", "ann")
    unregistered = _there(folder)
    posthouse.json("agents", "mailbox", "register", "ann")
    (folder / _NAMES[0] / "SKILL.md").write_text("my own words\n")
    (folder / _NAMES[1] / "SKILL.md").unlink()
    again = posthouse.run("agents", "relaunch", "ann", "--no-gateway")

    assert (before, registered, unregistered, _there(folder)) == ([], _NAMES, _NAMES, _NAMES)
    assert (folder / _NAMES[0] / "SKILL.md").read_text() == "my own words\n"
    assert (again.returncode, again.stderr.count("warning:")) == (0, 1)
    assert f"{folder / _NAMES[0] / 'SKILL.md'} is not ours" in again.stderr


@pytest.mark.ordinary_user
def test_an_agent_is_launched_with_skills_in_a_home_that_the_user_brings(posthouse: "Commands") -> None:
    """A prepared home gets them beside what is in it, and twice is as once."""
    first = posthouse.json("agents", "launch", "--tool", "scripted", "--name", "ann", "--headless")
    manifest = json.loads((Path(first["session_root"]) / "manifest.json").read_bytes())
    brought = ("--tool", "scripted", "--brain-manifest", manifest["brain_manifest_path"], "--headless")
    own = _skills(first) / "mine" / "SKILL.md"
    own.parent.mkdir()
    own.write_text("my own words\n")
    second = posthouse.run("agents", "launch", *brought, "--name", "bob", "--agent-id", "bob", "--json")
    folder = _skills(json.loads(second.stdout))

    assert folder == _skills(first)
    assert (_there(folder), own.read_text()) == (sorted([*_NAMES, "mine"]), "my own words\n")
    assert "warning" not in second.stderr

"""Skills in a home: written, renewed, and never at a person's cost."""

import os
from pathlib import Path

import pytest

from posthouse import tools
from posthouse.tools.skills import NAMES, install, text_of

COMMS = "houmao-agent-email-comms/SKILL.md"


def _contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if not path.is_dir()
    }


def test_both_are_there_and_a_second_call_writes_nothing(tmp_path: Path) -> None:
    """The contract's two files begin with the text that is shipped; right ones are left alone."""
    others = install(tmp_path / "skills")
    first = {path: path.stat().st_ino for path in tmp_path.rglob("SKILL.md")}
    again = install(tmp_path / "skills")

    assert (others, again) == ([], [])
    assert sorted(_contents(tmp_path / "skills")) == sorted(f"{name}/SKILL.md" for name in NAMES)
    assert all(
        text.startswith(text_of(path.split("/")[0])) for path, text in _contents(tmp_path / "skills").items()
    )
    assert {path: path.stat().st_ino for path in tmp_path.rglob("SKILL.md")} == first


def test_an_older_one_of_ours_is_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relaunch after an update brings the texts of the update."""
    from posthouse.tools.skills import installation

    with monkeypatch.context() as older:
        older.setattr(installation, "text_of", lambda name: f"the old words of {name}\n")
        install(tmp_path)
    others = install(tmp_path)

    assert others == []
    assert _contents(tmp_path)[COMMS].startswith(text_of("houmao-agent-email-comms"))


@pytest.mark.parametrize("own", ["my own words\n", None], ids=["written by a person", "changed by a person"])
def test_a_persons_own_file_stays(tmp_path: Path, own: str | None) -> None:
    """What somebody wrote, or changed in a text of ours, is left and told of."""
    install(tmp_path)
    words = own or (tmp_path / COMMS).read_text().replace("Mail between", "Letters between")
    (tmp_path / COMMS).write_text(words)

    assert install(tmp_path) == [tmp_path / COMMS]
    assert (tmp_path / COMMS).read_text() == words


@pytest.mark.parametrize("leads_to", ["elsewhere.md", "nowhere.md"])
def test_a_link_stays_a_link(tmp_path: Path, leads_to: str) -> None:
    """A skill that a person keeps in another place is not replaced, be it there or not."""
    (tmp_path / "elsewhere.md").write_text("my own words\n")
    (tmp_path / COMMS).parent.mkdir()
    (tmp_path / COMMS).symlink_to(tmp_path / leads_to)

    assert install(tmp_path) == [tmp_path / COMMS]
    assert (tmp_path / COMMS).is_symlink()


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_says_what_it_is_for(name: str) -> None:
    """A CLI shows the name and the description, which must be its folder's name and one bounded line."""
    opening, front, _ = text_of(name).split("---\n", 2)
    keys = dict(line.split(": ", 1) for line in front.splitlines())

    assert opening == ""
    assert (keys["name"], sorted(keys)) == (name, ["description", "name"])
    assert 0 < len(keys["description"]) <= 1024


def test_each_tool_has_them_where_the_contract_says(tmp_path: Path) -> None:
    """Claude and Codex look in `skills`, Gemini in `.gemini/skills`."""
    found = {
        name: tools.load(name).skills_folder(tmp_path).relative_to(tmp_path)
        for name in ("claude", "codex", "gemini")
    }

    assert found == {"claude": Path("skills"), "codex": Path("skills"), "gemini": Path(".gemini/skills")}


def test_a_named_pipe_in_place_of_a_skill_is_left_alone(tmp_path: Path) -> None:
    """Its other end is never opened, and a relaunch must not wait for that."""
    install(tmp_path)
    path = tmp_path / NAMES[0] / "SKILL.md"
    path.unlink()
    os.mkfifo(path)

    assert list(install(tmp_path)) == [path]

import os
from pathlib import Path

import pytest

from posthouse.errors import InvalidInput
from posthouse.sessions import brain

_BRAIN = """
schema_version: 3
inputs: {tool: scripted, role_prompt_text: be kind}
runtime:
  home_path: /h
  launch_home_selector: {env_var: POSTHOUSE_SCRIPTED_HOME, value: /h}
  launch_executable: /bin/agent
  launch_contract:
    adapter_defaults: {args: [--fast]}
    env_records: {MODE: test}
credentials: {env_contract: {source_file: SOURCE, selected_env_vars: [KEY]}}
agent_name: gpu
unknown: ignored
"""


def _brain(tmp_path: Path, text: str) -> Path:
    env = tmp_path / "keys.env"
    env.write_text("KEY=secret\nOTHER=x\n")
    path = tmp_path / "brain.yaml"
    path.write_text(text.replace("SOURCE", str(env)))
    return path


def test_a_brain_manifest_gives_what_a_launch_needs(tmp_path: Path) -> None:
    """Home, program, arguments and the chosen credentials; keys it does not know are ignored."""
    assert brain.read(_brain(tmp_path, _BRAIN)) == brain.Brain(
        tool="scripted",
        home_path=Path("/h"),
        home_variable="POSTHOUSE_SCRIPTED_HOME",
        executable="/bin/agent",
        args=("--fast",),
        environment={"MODE": "test"},
        credentials={"KEY": "secret"},
        agent_name="gpu",
        role_text="be kind",
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tool: scripted, ", "", r"has no inputs\.tool"),
        ("home_path: /h\n", "home_path: 3\n", r"runtime\.home_path must be a text"),
        ("[--fast]", "fast", r"args must be a list of texts"),
        ("{MODE: test}", "{MODE: 1}", r"env_records must map names to texts"),
        ("[KEY]", "[KEY, MISSING]", "has no MISSING"),
        (_BRAIN, "- a list", "is not a mapping"),
        (_BRAIN, "a: [", "can't be read"),
        (_BRAIN, "!!python/object/apply:os.system [true]", "can't be read"),
    ],
)
def test_a_key_that_is_missing_or_wrong_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    """The message says which key of which file."""
    with pytest.raises(InvalidInput, match=message):
        brain.read(_brain(tmp_path, _BRAIN.replace(old, new)))


def test_what_we_write_we_can_read(tmp_path: Path) -> None:
    """Our own brain manifest is read back without its credentials."""
    made = brain.Brain(
        tool="scripted",
        home_path=Path("/h"),
        home_variable="V",
        executable="/bin/agent",
        args=("-x",),
        environment={"MODE": "test"},
        credentials={},
        agent_name="gpu",
        agent_id="1",
    )

    brain.write(tmp_path / "manifests" / "b.yaml", made)

    assert brain.read(tmp_path / "manifests" / "b.yaml") == made


def test_a_missing_role_is_refused_with_its_place(tmp_path: Path) -> None:
    """The role's text lies at a fixed place in the definition folder."""
    brain.write_role(tmp_path, "reviewer", "Review.")

    assert brain.read_role(tmp_path, "reviewer") == "Review."
    with pytest.raises(InvalidInput, match=r"roles/writer/system-prompt\.md"):
        brain.read_role(tmp_path, "writer")


@pytest.mark.parametrize("role_name", ["../secrets", "a/../../secrets", "/etc", ".", ""])
def test_a_role_is_read_nowhere_else(tmp_path: Path, role_name: str) -> None:
    """Whoever launches an agent over HTTP names a role, not a path."""
    files = tmp_path / "roles"
    brain.write_role(tmp_path, "a", "A.")
    (tmp_path / "secrets").mkdir()
    for folder in (files, tmp_path / "secrets"):
        (folder / "system-prompt.md").write_text("secret")

    with pytest.raises(InvalidInput, match="not the name of a folder below"):
        brain.read_role(tmp_path, role_name)


def test_a_brain_manifest_that_is_a_pipe_or_endlessly_nested_is_refused(tmp_path: Path) -> None:
    """At once, with a message that names the file."""
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "deep.yaml").write_text("[" * 5000)

    for name in ("pipe.yaml", "deep.yaml"):
        with pytest.raises(InvalidInput, match=name):
            brain.read(tmp_path / name)
